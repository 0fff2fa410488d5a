// Locks, condvars and latches that are members of objects, also where a guard locks them.
// flags: -std=c++20 -O1 -g
// run: -- circle
// exit: 2
// line: why: worker 0.0 waits for `entries_`, worker 0.1 waits for `balance_`, and each of these is held by the next one
// run: -- condvar
// exit: 2
// line: waits for `filled_`, which is never notified in this schedule
// run: -- latch
// exit: 2
// line: waits for a latch (`ready_`)
// line: and too few count it down
// run: -- future
// exit: 2
// line: waits for the result of a future
// line: and nobody that can give it goes on; worker 0.0 waits for `balance_`, which worker 0 holds since step
#include <condition_variable>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

class Ledger {
    std::mutex balance_;
    std::mutex entries_;
    std::condition_variable filled_;
    std::latch ready_{2};
    long money_ = 0;

public:
    void deposit() {
        std::lock_guard<std::mutex> balance(balance_);
        std::lock_guard<std::mutex> entries(entries_);
        money_ += 5;
    }
    void audit() {
        std::unique_lock<std::mutex> entries(entries_);
        std::unique_lock<std::mutex> balance{balance_};
        money_ += 0;
    }
    void wait() {
        std::unique_lock<std::mutex> balance(balance_);
        filled_.wait(balance, [this] { return money_ > 0; });
    }
    void start() { ready_.count_down(); }
    void run() { ready_.wait(); }
    void report() {
        std::lock_guard<std::mutex> balance(balance_);
        std::async(std::launch::async, [this] { deposit(); }).get();
    }
};

int main(int argc, char **argv) {
    std::string how = argc > 1 ? argv[1] : "";
    auto ledger = std::make_shared<Ledger>();
    if (how == "circle") {
        std::thread first([&] { ledger->deposit(); });
        std::thread second([&] { ledger->audit(); });
        first.join();
        second.join();
    } else if (how == "condvar") {
        ledger->wait();
    } else if (how == "latch") {
        ledger->start();
        ledger->run();
    } else {
        ledger->report();
    }
}
