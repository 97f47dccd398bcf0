// A crew of threads that lives as long as one fit: it shares out numbered pieces of work, and nothing else.
//
// No thread outlives the fit, so a process may fork afterwards. The calling thread works too; only it may talk to
// Python, which it does through `tick` between pieces. When a piece throws, or tick does (Ctrl-C), the others are let
// finish what they hold, and the first exception is thrown again in the calling thread.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace treewise {

struct Cancelled {};  // thrown in a thread whose work nobody waits for any more

// What long loops call now and then: in the calling thread it asks Python whether to go on, in others the crew.
using Pulse = std::function<void()>;
inline constexpr size_t kBetweenPulses = 1 << 20;  // rows: some milliseconds

class Crew {
public:
    explicit Crew(int n_workers) {
        threads_.reserve(static_cast<size_t>(std::max(n_workers, 1)));
        try {
            for (int i = 1; i < n_workers; ++i) threads_.emplace_back([this, i] { live(i); });
        } catch (const std::system_error&) {  // no more threads to be had: fewer do
        }
    }
    ~Crew() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        wake_.notify_all();
        for (std::thread& t : threads_) t.join();
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }
    bool stopped() const { return stop_.load(std::memory_order_relaxed); }
    // tick: what the calling thread, worker 0, has for a pulse.
    Pulse pulse(int worker, const Pulse& tick) const {
        if (worker == 0) return tick;
        return [this] {
            if (stopped()) throw Cancelled{};
        };
    }

    // Calls work(piece, worker) for every piece below n, in order of number, each once, by whoever is free.
    void share(size_t n, const std::function<void(size_t, int)>& work, const std::function<void()>& tick) {
        if (threads_.empty() || n <= 1) {
            for (size_t i = 0; i < n; ++i) work(i, 0), tick();
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            work_ = &work;
            n_ = n;
            next_ = 0;
            busy_ = static_cast<int>(threads_.size());
            ++round_;
        }
        wake_.notify_all();
        take(0, &tick);
        std::unique_lock lock(mutex_);
        while (!done_.wait_for(lock, std::chrono::milliseconds(20), [this] { return busy_ == 0; })) {
            lock.unlock();
            guarded(tick);
            lock.lock();
        }
        work_ = nullptr;
        if (const auto trouble = std::exchange(trouble_, nullptr)) std::rethrow_exception(trouble);
    }

private:
    void live(int worker) {
        for (uint64_t seen = 0;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return over_ || round_ != seen; });
                if (over_) return;
                seen = round_;
            }
            take(worker, nullptr);
            const std::lock_guard lock(mutex_);
            if (--busy_ == 0) done_.notify_all();
        }
    }
    void take(int worker, const std::function<void()>* tick) {
        for (size_t i; !stopped() && (i = next_.fetch_add(1)) < n_;) {
            guarded([&] { (*work_)(i, worker); });
            if (tick) guarded(*tick);
        }
    }
    template <class Work>
    void guarded(const Work& work) {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!trouble_) trouble_ = std::current_exception();
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
    int busy_ = 0;
    uint64_t round_ = 0;
    bool over_ = false;
    std::exception_ptr trouble_;
};

}  // namespace treewise
