// Allocator for randomly accessed arrays: 2 MB huge pages (madvise) reduce TLB misses; falls back to normal pages.

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
    HugePageAllocator(const HugePageAllocator<U>&) {
    }  // NOLINT: stateless, so any instance can free what another allocated

    T* allocate(size_t n) {
        const size_t bytes = n * sizeof(T);
        if (bytes < 2 * kHugePage) return static_cast<T*>(::operator new(bytes));
        void* memory = ::operator new(bytes, std::align_val_t{kHugePage});
#ifdef __linux__
        madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint; normal pages work as well
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
