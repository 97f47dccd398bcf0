// Memory that is looked at here and there: in large pages, where there are some, the processor knows where it lies.

#pragma once

#include <cstddef>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace treewise {

template <class T>
struct HugePageAllocator {
    using value_type = T;
    static constexpr size_t kHugePage = 1 << 21;

    HugePageAllocator() = default;
    template <class U>
    HugePageAllocator(const HugePageAllocator<U>&) {}  // NOLINT: every allocator gives what another has taken

    T* allocate(size_t n) {
        const size_t bytes = n * sizeof(T);
        if (bytes < 2 * kHugePage) return static_cast<T*>(::operator new(bytes));
        void* memory = ::operator new(bytes, std::align_val_t{kHugePage});
#ifdef __linux__
        madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: pages of the usual size do as well
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, size_t n) {
        if (n * sizeof(T) < 2 * kHugePage)
            ::operator delete(memory);
        else
            ::operator delete(memory, std::align_val_t{kHugePage});
    }
    bool operator==(const HugePageAllocator&) const = default;
};

template <class T>
using HugePageVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace treewise
