// Thread pool with a parallel for, one per fit.
//
// No thread outlives the fit, so a process may fork afterwards. The calling thread works too and is the only one that
// may call Python, which it does through `check_interrupt` between tasks. When a task or a check throws (Ctrl-C), the
// other threads finish their current task and the first exception is rethrown in the calling thread.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace treewise {

struct Cancelled {};  // thrown in a worker thread to abandon its task

// Called regularly in long loops; throws to stop. The calling thread asks Python, the others ask the pool.
using CheckInterrupt = std::function<void()>;
inline constexpr size_t kRowsBetweenChecks = 1 << 20;  // some milliseconds of work

// Makes sure that this thread can throw; returns false if there is no memory for it. The C++ library keeps the
// exceptions of a thread in thread-local memory, which the loader allocates at first use; if that is the throw of
// std::bad_alloc, there is none, and the loader ends the process. Blocks of all small sizes are allocated and freed
// first: the allocator keeps them for this thread, and the loader gets one of them.
inline bool prepare_to_throw() noexcept {
    constexpr size_t kStep = 16, kSmall = 1024;
    std::array<void*, kSmall / kStep> blocks;
    bool has_memory = true;
    for (size_t i = 0; i < blocks.size(); ++i) {
        void* volatile block = std::malloc(kStep * (i + 1));  // volatile: not to be optimised away
        blocks[i] = block, has_memory &= block != nullptr;
    }
    for (void* block : blocks) std::free(block);
    if (!has_memory) return false;
    [[maybe_unused]] const volatile int used = std::uncaught_exceptions();  // declared pure: not called without a use
    return true;
}

class ThreadPool {
public:
    explicit ThreadPool(int n_workers) {
        prepare_to_throw();
        threads_.reserve(static_cast<size_t>(std::max(n_workers, 1)));
        try {
            for (int i = 1; i < n_workers && start_worker(i); ++i) {
            }
        } catch (const std::system_error&) {  // the system has no more threads: continue with fewer
        } catch (const std::bad_alloc&) {
        }
    }
    ~ThreadPool() {
        {
            const std::lock_guard lock(mutex_);
            shutdown_ = true;
        }
        wake_.notify_all();
        for (std::thread& t : threads_) t.join();
    }
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }
    bool stopped() const { return stop_.load(std::memory_order_relaxed); }
    // The check for a worker; `check_interrupt` is that of the calling thread, worker 0.
    CheckInterrupt interrupt_check(int worker, const CheckInterrupt& check_interrupt) const {
        if (worker == 0) return check_interrupt;
        return [this] {
            if (stopped()) throw Cancelled{};
        };
    }

    // Calls work(task, worker) once for every task below n, in ascending order, on the next free worker.
    void parallel_for(size_t n, const std::function<void(size_t, int)>& work,
                      const std::function<void()>& check_interrupt) {
        if (threads_.empty() || n <= 1) {
            for (size_t i = 0; i < n; ++i) work(i, 0), check_interrupt();
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            work_ = &work;
            n_ = n;
            next_ = 0;
            n_busy_ = static_cast<int>(threads_.size());
            ++generation_;
        }
        wake_.notify_all();
        run_tasks(0, &check_interrupt);
        std::unique_lock lock(mutex_);
        while (!done_.wait_for(lock, std::chrono::milliseconds(20), [this] { return n_busy_ == 0; })) {
            lock.unlock();
            run_guarded(check_interrupt);
            lock.lock();
        }
        work_ = nullptr;
        if (const auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
    }

private:
    // Starts a thread and waits until it is ready; returns false if there is no memory for its exceptions.
    bool start_worker(int worker) {
        start_ = Start::pending;
        threads_.emplace_back([this, worker] { run_worker(worker); });
        {
            std::unique_lock lock(mutex_);
            done_.wait(lock, [this] { return start_ != Start::pending; });
        }
        if (start_ == Start::ready) return true;
        threads_.back().join();
        threads_.pop_back();
        return false;
    }
    void run_worker(int worker) {
        const bool is_ready = prepare_to_throw();
        {
            const std::lock_guard lock(mutex_);
            start_ = is_ready ? Start::ready : Start::failed;
        }
        done_.notify_all();
        if (!is_ready) return;
        for (uint64_t seen = 0;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return shutdown_ || generation_ != seen; });
                if (shutdown_) return;
                seen = generation_;
            }
            run_tasks(worker, nullptr);
            const std::lock_guard lock(mutex_);
            if (--n_busy_ == 0) done_.notify_all();
        }
    }
    void run_tasks(int worker, const std::function<void()>* check_interrupt) {
        for (size_t i; !stopped() && (i = next_.fetch_add(1)) < n_;) {
            run_guarded([&] { (*work_)(i, worker); });
            if (check_interrupt) run_guarded(*check_interrupt);
        }
    }
    template <class Work>
    void run_guarded(const Work& work) {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!error_) error_ = std::current_exception();
            stop_ = true;
        }
    }

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(size_t, int)>* work_ = nullptr;
    size_t n_ = 0;
    std::atomic<size_t> next_ = 0;
    std::atomic<bool> stop_ = false;
    int n_busy_ = 0;
    enum class Start { pending, ready, failed } start_ = Start::pending;  // of the last thread
    uint64_t generation_ = 0;
    bool shutdown_ = false;
    std::exception_ptr error_;
};

}  // namespace treewise
