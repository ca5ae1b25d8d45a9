// Which of the kernels for newer x86 processors this machine can run.
#pragma once

namespace anelane::soft {

enum class X86Level { kBaseline, kAvx2, kAvx512 };
X86Level x86_level();  // of processor and system together

}  // namespace anelane::soft
