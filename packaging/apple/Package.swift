// swift-tools-version:5.9
// A package that gives the binary target to other packages. scripts/release fills in the words between @ signs. The worker is no
// part of an xcframework: put anelane-worker of the same release into Contents/Helpers of the application (docs/packaging.md).
import PackageDescription

let package = Package(
    name: "anelane",
    platforms: [.macOS(.v13)],
    products: [.library(name: "CAneLane", targets: ["CAneLane"])],
    targets: [
        .binaryTarget(name: "CAneLane", url: "@URL@", checksum: "@SHA256@")
    ]
)
