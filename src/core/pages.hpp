// Memory for large tables that are read here and there: on large pages, where the system gives such, so that finding a
// cell's address does not cost more than the cell.

#pragma once

#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace treewise {

template <class T>
struct LargePages {
    using value_type = T;
    static constexpr size_t kPage = size_t{1} << 21;

    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}

    T* allocate(size_t n) {
        const size_t bytes = n * sizeof(T), whole = (bytes + kPage - 1) / kPage * kPage;
        void* memory = bytes < kPage ? std::malloc(bytes) : std::aligned_alloc(kPage, whole);
        if (!memory) throw std::bad_alloc();
#if defined(__linux__)
        if (bytes >= kPage) madvise(memory, whole, MADV_HUGEPAGE);  // a wish: where it is not granted all is as before
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, size_t) { std::free(memory); }
    bool operator==(const LargePages&) const = default;
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace treewise
