@_exported public import Anelane
internal import CAnelaneLinked

extension Library {
  /// The library that this program is linked with.
  ///
  /// Depending on `AnelaneLinked` rather than `Anelane` links libanelane: found by `pkg-config`, or where `-Xlinker -L` says.
  /// ``Library/standard()`` finds it too, so that nothing else changes.
  public static func linked() throws(AneLaneError) -> Library { try Library(table: canelane_linked(), name: "the linked library") }
}
