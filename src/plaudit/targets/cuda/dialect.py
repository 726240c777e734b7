"""CUDA as a dialect of C: what functions begin with, what takes the place of includes, and the kernels."""

from plaudit.targets.c.dialect import Dialect, format_includes
from plaudit.targets.c.reward import CReward
from plaudit.targets.cuda.batch import format_batch, format_row

_START = """\
#if defined(__CUDACC_RTC__) /* NVRTC has these functions, but no headers */
#define {upper}_FUNCTION static __device__ inline
#define {upper}_KERNEL extern "C" __global__
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#endif
#ifndef HUGE_VAL
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000LL)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF __builtin_bit_cast(float, 0x7f800000)
#endif
#else
{includes}
#if defined(__CUDACC__)
#define {upper}_FUNCTION static __host__ __device__ inline
#define {upper}_KERNEL static __global__
#else
#define {upper}_FUNCTION static inline
#endif
#endif"""

_PRODUCT = """\
/* a * b, rounded: a GPU would fuse it with a sum that follows, and round once. */
{function} {real} {prefix}_times_({real} a, {real} b)
{{
#if defined(__CUDA_ARCH__)
    return __{letter}mul_rn(a, b);
#else
    return a * b;
#endif
}}"""

_LOOPS = """\
/* Scores every row of a batch on the processor. */
{function} void {prefix}_score_rows(const {prefix}_batch *batch)
{{
    for (long long at = 0; at < batch->rows; at++)
        {prefix}_score_row(batch, at);
}}

#if defined(__CUDACC__)
/* Scores every row of a batch whose description is in device memory, with a grid of any size. */
{upper}_KERNEL void {prefix}_kernel(const {prefix}_batch *batch)
{{
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < batch->rows; at += stride)
        {prefix}_score_row(batch, at);
}}

/* The same with a description that is passed by value. */
{upper}_KERNEL void {prefix}_kernel_by_value(const {prefix}_batch batch)
{{
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < batch.rows; at += stride)
        {prefix}_score_row(&batch, at);
}}
#endif

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
/* Queues the scoring of a batch on a stream; its arrays are in device memory, its description is copied. */
static inline cudaError_t {prefix}_launch(const {prefix}_batch *batch, cudaStream_t stream)
{{
    const long long blocks = (batch->rows + 255) / 256, most = 1 << 20;
    if (batch->rows <= 0)
        return batch->rows == 0 ? cudaSuccess : cudaErrorInvalidValue;
    {prefix}_kernel_by_value<<<(unsigned int)(blocks < most ? blocks : most), 256, 0, stream>>>(*batch);
    return cudaPeekAtLastError();
}}
#endif"""


def format_start(made: CReward) -> list[str]:
    """Return the includes, what functions begin with, and the product."""
    letter = "f" if made.real == "float" else "d"
    start = _START.format(upper=made.upper, includes="\n".join(format_includes(made.real)))
    product = _PRODUCT.format(function=made.function, prefix=made.prefix, real=made.real, letter=letter)
    return [*start.splitlines(), "", *product.splitlines()]


def format_end(made: CReward) -> list[list[str]]:
    """Return the description of a batch, the function of a row of it, and what calls it for every row."""
    loops = _LOOPS.format(function=made.function, prefix=made.prefix, upper=made.upper)
    return [format_batch(made), format_row(made), loops.splitlines()]


CUDA = Dialect(
    languages="CUDA, which C++11 takes too",
    function="{upper}_FUNCTION",
    product="{prefix}_times_({0}, {1})",
    rounding="On a GPU, and compiled with -ffp-contract=off for a CPU",
    library="whose rounding depends on the library of CUDA or of C (within 4 ULP)",
    names=("batch", "score_row", "score_rows", "kernel", "kernel_by_value", "launch", "times_"),
    macros=("FUNCTION", "KERNEL"),
)
