// Every bound in one place, with the relations between them checked at compile time.
#pragma once
#include <cstddef>
#include <cstdint>

namespace anelane::limits {

// Lane defaults (options of the same names in include/anelane.h).
inline constexpr uint32_t kExecutableBudget = 100;
inline constexpr uint32_t kShapesPerModel = 4;
inline constexpr uint32_t kShapesTotal = 8;
inline constexpr uint32_t kMaxWaiting = 65536;
inline constexpr uint32_t kSettleMs = 50;
inline constexpr uint32_t kHandoffMs = 250;
inline constexpr uint32_t kLeaseMaxMs = 30'000;
inline constexpr uint64_t kAdmissionBoundMs = 600'000;
inline constexpr uint64_t kDrainMs = 600'000;

// The record of a lane (lane option record_path).
inline constexpr size_t kHistoryBytes = size_t{256} << 20;

// What a lane tells other processes about itself (src/lane/state_file.h).
inline constexpr size_t kStateBytes = size_t{1} << 20;
inline constexpr uint64_t kStateEveryMs = 500;

// Protocol.
inline constexpr size_t kFrameMax = 1u << 20;
inline constexpr uint32_t kProtocolVersion = 3;

// Time that we wait for others.
inline constexpr uint32_t kSpawnMs = 10'000;           // fork, exec and HELLO
inline constexpr uint32_t kExitAskMs = 1'000;          // polite end before the kill
inline constexpr uint32_t kCloseAskMs = 2'000;         // the same for all workers of a lane that is closed
inline constexpr uint32_t kExitTimeoutMs = 30'000;     // L6.2
inline constexpr uint32_t kGateHoldMs = 35'000;        // L4.13
inline constexpr uint32_t kOwnerDeathMs = 1'000;       // L1.4
inline constexpr uint64_t kShapeExchangeMs = 600'000;  // one admission or eviction
inline constexpr uint64_t kInferExchangeMs = 120'000;  // one run or one chunk of an embed
// Padded tokens of one embed exchange: what a short call waits for behind somebody's large batch, and what a
// cancelled batch still costs. Larger ones gain nothing that can be measured.
inline constexpr uint64_t kExchangeTokens = 2'048;
inline constexpr uint64_t kLoadExchangeMs = 600'000;  // one model load
// While an exchange runs its worker is asked whether it is still there (src/lane/worker_pulse.h).
inline constexpr uint32_t kPingEveryMs = 2'000;
inline constexpr uint32_t kPingsMissed = 5;  // in a row: crashed
inline constexpr uint32_t kStuckPings = 20;  // without a step of an embed: crashed

// A model whose workers keep ending (L6.4).
inline constexpr uint64_t kCrashWindowMs = 60'000;
inline constexpr size_t kCrashesMax = 5;           // within it
inline constexpr uint64_t kProbeEveryMs = 60'000;  // one start in so long, from then on
inline constexpr size_t kCrashBookModels = 64;     // remembered beyond the life of a lane

// Models and programs.
inline constexpr uint32_t kMaxRungs = 16;
inline constexpr uint32_t kMaxLayers = 512;
inline constexpr uint32_t kMaxAxis = 16384;  // capability: one tensor axis
inline constexpr size_t kMaxMilBytes = 64u << 20;
inline constexpr size_t kMaxRank = 5;                // capability: axes of a tensor
inline constexpr uint32_t kMaxConvChannels = 65536;  // capability: channels of a convolution's weight
inline constexpr size_t kMaxPorts = 255;    // inputs, or outputs, of a program (execution: 8-bit count)
inline constexpr size_t kMaxPortName = 63;  // the C struct's text, without its NUL
inline constexpr size_t kMaxManifestBytes = 16u << 20;
inline constexpr uint64_t kMaxWeightFile = uint64_t{4} << 30;  // of one program, as kMaxPlanWeights
inline constexpr uint64_t kMaxRunBytes = uint64_t{1} << 30;    // all inputs and outputs of one shape
inline constexpr size_t kMaxMilStatements = 1u << 18;
inline constexpr size_t kMaxMilArguments = 64;                  // of one operation
inline constexpr size_t kMaxInlineElements = 1u << 20;          // of a literal in the text
inline constexpr uint64_t kMaxPlanWeights = uint64_t{4} << 30;  // capability: mapped weights of a program
inline constexpr uint64_t kMaxArenaBytes = uint64_t{16} << 30;
inline constexpr uint64_t kMaxNormElements = 1u << 18;  // of one softmax or layer norm
inline constexpr uint64_t kMaxPlanFile = kMaxPlanWeights + (uint64_t{1} << 30);
inline constexpr int64_t kVaultUnusedSeconds = 14 * 24 * 3600;  // the daemon's own rule
inline constexpr int64_t kVaultUpkeepSeconds = 24 * 3600;
inline constexpr uint64_t kCompileGateMs = 600'000;  // wait for another process's compile
inline constexpr uint32_t kMaxPoolLimit = 4096;
// Apple's engine (src/ane_direct/apple).
inline constexpr uint32_t kApplePoolLimit = 115;            // live programs; more have been seen to fail
inline constexpr uint64_t kSurfaceMin = 48u << 10;          // of a port's memory
inline constexpr uint64_t kSurfaceAlign = 16u << 10;        // its size is a multiple of it
inline constexpr uint64_t kMaxSurface = uint64_t{4} << 30;  // of one port, with its padding
inline constexpr size_t kRequestsKept = 8;                  // of one program, for as many sets of buffers
inline constexpr uint64_t kCompileBackoffMs = 15'000;       // after a failed compile: its service restarts
inline constexpr uint32_t kAppleReclaimMs = 300;            // L4.15: until an unload gives room
inline constexpr uint64_t kStagingWaitMs = 2'000;           // an unload waits for another's staging
inline constexpr size_t kMaxEngineText = 4096;              // of the framework's own words in an error
inline constexpr size_t kMaxPlanSteps = 1u << 20;
inline constexpr uint32_t kMaxEngineThreads = 64;
inline constexpr size_t kMaxBlobRecords = 1u << 16;  // tensors in one weight file
inline constexpr uint32_t kMaxKernelWidth = 15;      // capability: width of a convolution kernel
inline constexpr uint64_t kMaxTensorElements = uint64_t{1} << 31;
inline constexpr size_t kMaxConfigBytes = 16u << 20;
inline constexpr size_t kMaxTokenizerBytes = 256u << 20;
inline constexpr size_t kMaxSafetensorsHeader = 100u << 20;  // the format's own bound
inline constexpr size_t kMaxItemsPerCall = 1u << 20;

static_assert(kExitAskMs < kExitTimeoutMs);
static_assert(kExitAskMs < kCloseAskMs);  // a worker that ends itself by force needs no kill
static_assert(kShapesPerModel <= kShapesTotal);
static_assert(kExecutableBudget < kApplePoolLimit);
static_assert(kSurfaceMin % kSurfaceAlign == 0 && kMaxSurface % kSurfaceAlign == 0);
static_assert(kShapeExchangeMs >= kAdmissionBoundMs);
static_assert(kPingsMissed < kStuckPings);
static_assert(kInferExchangeMs % kPingEveryMs == 0);
// Where three layers or more take the same time, one that is given up would have missed the time-out too.
static_assert(uint64_t{kPingEveryMs} * kStuckPings * 3 <= kInferExchangeMs);

}  // namespace anelane::limits
