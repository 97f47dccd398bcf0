// Thread pool with a parallel for, one per fit.
//
// No thread outlives the fit, so a process may fork afterwards. The calling thread works too and is the only one that
// may call Python, which it does through `check_interrupt` between tasks. When a task or a check throws (Ctrl-C), the
// other threads finish their current task and the first exception is rethrown in the calling thread.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace treewise {

struct Cancelled {};  // thrown in a worker thread to abandon its task

// Called regularly in long loops; throws to stop. The calling thread asks Python, the others ask the pool.
using CheckInterrupt = std::function<void()>;
inline constexpr size_t kRowsBetweenChecks = 1 << 20;  // some milliseconds of work

// Makes sure that this thread can throw. The C++ library keeps the exceptions of a thread in thread-local memory, which
// the loader allocates at first use; if that is the throw of std::bad_alloc, there is none, and the process ends.
inline void prepare_to_throw() { static_cast<void>(std::uncaught_exceptions()); }

class ThreadPool {
public:
    explicit ThreadPool(int n_workers) {
        prepare_to_throw();
        threads_.reserve(static_cast<size_t>(std::max(n_workers, 1)));
        try {
            for (int i = 1; i < n_workers && has_memory_for_thread(); ++i) {
                threads_.emplace_back([this, i] { run_worker(i); });
                std::unique_lock lock(mutex_);
                done_.wait(lock, [this] { return n_ready_ == threads_.size(); });
            }
        } catch (const std::system_error&) {  // the system has no more threads: continue with fewer
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
    // Whether a thread that starts now will find memory for its exceptions; otherwise continue with fewer.
    static bool has_memory_for_thread() {
        void* volatile block = std::malloc(size_t{1} << 16);
        std::free(block);
        return block;
    }
    void run_worker(int worker) {
        prepare_to_throw();
        {
            const std::lock_guard lock(mutex_);
            ++n_ready_;
        }
        done_.notify_all();
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
    size_t n_ready_ = 0;  // threads that have started
    uint64_t generation_ = 0;
    bool shutdown_ = false;
    std::exception_ptr error_;
};

}  // namespace treewise
