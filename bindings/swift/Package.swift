// swift-tools-version: 6.0
// The Swift binding of libanelane. `Anelane` opens the library at run time and links nothing; `AnelaneLinked` is the same, linked
// (found by pkg-config, or by -L).
import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault")]

let package = Package(
  name: "Anelane",
  platforms: [.macOS(.v13)],
  products: [
    .library(name: "Anelane", targets: ["Anelane"]),
    .library(name: "AnelaneLinked", targets: ["AnelaneLinked"]),
    .executable(name: "SearchNotes", targets: ["SearchNotes"]),
  ],
  targets: [
    .target(name: "CAnelane", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .target(name: "Anelane", dependencies: ["CAnelane"], swiftSettings: settings),

    .systemLibrary(name: "CAnelaneSystem", pkgConfig: "anelane"),
    .target(name: "CAnelaneLinked", dependencies: ["CAnelane", "CAnelaneSystem"], linkerSettings: [.linkedLibrary("anelane")]),
    .target(name: "AnelaneLinked", dependencies: ["Anelane", "CAnelaneLinked"], swiftSettings: settings),

    .executableTarget(name: "SearchNotes", dependencies: ["Anelane"], swiftSettings: settings),

    // For the tests of this project: golden vectors, what a call costs over C, a checkpoint of a few kilobytes.
    .target(name: "TinyCheckpoint", swiftSettings: settings),
    .executableTarget(name: "GoldenVectors", dependencies: ["AnelaneLinked"], swiftSettings: settings),
    .executableTarget(name: "Overhead", dependencies: ["Anelane", "CAnelane", "TinyCheckpoint"], swiftSettings: settings),
    .testTarget(name: "AnelaneTests", dependencies: ["Anelane", "AnelaneLinked", "CAnelane", "TinyCheckpoint"], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
