// libc++'s data of each thread: condition variables to notify and states to make ready when it ends.
#include <version>

#ifdef COYOTE_LIBCXX_THREADS

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

_LIBCPP_BEGIN_NAMESPACE_STD

class __thread_struct_imp {
public:
  struct entry {
    condition_variable *condvar;
    mutex *held;
    __assoc_sub_state *state;
    entry *next;
  };

  entry *first = nullptr;
  entry **end = &first;

  void add(condition_variable *condvar, mutex *held, __assoc_sub_state *state) {
    *end = new entry{condvar, held, state, nullptr};
    end = &(*end)->next;
  }

  ~__thread_struct_imp() {
    while (first) {
      entry *done = first;
      first = done->next;
      if (done->condvar) {
        // In this order (LWG 3343): whoever gets the mutex may destroy the condition variable.
        done->condvar->notify_all();
        done->held->unlock();
      } else {
        done->state->__make_ready();
        done->state->__release_shared();
      }
      delete done;
    }
  }
};

__thread_specific_ptr<__thread_struct> &__thread_local_data() {
  static __thread_specific_ptr<__thread_struct> data;
  return data;
}

__thread_struct::__thread_struct() : __p_(new __thread_struct_imp) {}

__thread_struct::~__thread_struct() {
  delete __p_;
}

void __thread_struct::notify_all_at_thread_exit(condition_variable *condvar, mutex *held) {
  __p_->add(condvar, held, nullptr);
}

void __thread_struct::__make_ready_at_thread_exit(__assoc_sub_state *state) {
  state->__add_shared();
  __p_->add(nullptr, nullptr, state);
}

static __thread_struct *own() {
  auto &data = __thread_local_data();
  if (!data.get()) {
    data.set_pointer(new __thread_struct); // a thread that std::thread did not start
  }
  return data.get();
}

void notify_all_at_thread_exit(condition_variable &condvar, unique_lock<mutex> guard) {
  own()->notify_all_at_thread_exit(&condvar, guard.release());
}

// ---- Futures ----

class __coyote_future_category : public error_category {
public:
  const char *name() const noexcept override {
    return "future";
  }
  string message(int code) const override {
    switch (static_cast<future_errc>(code)) {
    case future_errc::broken_promise:
      return "the promise is gone and was not kept";
    case future_errc::future_already_retrieved:
      return "the future was taken before";
    case future_errc::promise_already_satisfied:
      return "the promise was kept before";
    case future_errc::no_state:
      return "there is no promise behind it";
    }
    return "an unknown error of futures";
  }
};

const error_category &future_category() noexcept {
  static __coyote_future_category category;
  return category;
}

future_error::future_error(error_code code) : logic_error(code.message()), __ec_(code) {}

future_error::~future_error() noexcept {}

void __assoc_sub_state::__on_zero_shared() noexcept {
  delete this;
}

void __assoc_sub_state::__make_ready() {
  lock_guard<mutex> guard(__mut_);
  __state_ |= ready;
  __cv_.notify_all();
}

static void once(bool has_value) {
  if (has_value) {
    __throw_future_error(future_errc::promise_already_satisfied);
  }
}

void __assoc_sub_state::set_value() {
  lock_guard<mutex> guard(__mut_);
  once(__has_value());
  __state_ |= __constructed | ready;
  __cv_.notify_all();
}

void __assoc_sub_state::set_value_at_thread_exit() {
  lock_guard<mutex> guard(__mut_);
  once(__has_value());
  __state_ |= __constructed;
  own()->__make_ready_at_thread_exit(this);
}

void __assoc_sub_state::set_exception(exception_ptr exception) {
  lock_guard<mutex> guard(__mut_);
  once(__has_value());
  __exception_ = exception;
  __state_ |= ready;
  __cv_.notify_all();
}

void __assoc_sub_state::set_exception_at_thread_exit(exception_ptr exception) {
  lock_guard<mutex> guard(__mut_);
  once(__has_value());
  __exception_ = exception;
  own()->__make_ready_at_thread_exit(this);
}

void __assoc_sub_state::__sub_wait(unique_lock<mutex> &guard) {
  if (__is_ready()) {
    return;
  }
  if (__state_ & static_cast<unsigned>(deferred)) {
    __state_ &= ~static_cast<unsigned>(deferred);
    guard.unlock();
    __execute();
    return;
  }
  while (!__is_ready()) {
    __cv_.wait(guard);
  }
}

void __assoc_sub_state::wait() {
  unique_lock<mutex> guard(__mut_);
  __sub_wait(guard);
}

void __assoc_sub_state::copy() {
  unique_lock<mutex> guard(__mut_);
  __sub_wait(guard);
  if (__exception_ != nullptr) {
    rethrow_exception(__exception_);
  }
}

void __assoc_sub_state::__execute() {
  __throw_future_error(future_errc::no_state);
}

future<void>::future(__assoc_sub_state *state) : __state_(state) {
  __state_->__attach_future();
}

future<void>::~future() {
  if (__state_) {
    __state_->__release_shared();
  }
}

void future<void>::get() {
  unique_ptr<__shared_count, __release_shared_count> released(__state_);
  __assoc_sub_state *state = __state_;
  __state_ = nullptr;
  state->copy();
}

promise<void>::promise() : __state_(new __assoc_sub_state) {}

promise<void>::~promise() {
  if (__state_) {
    if (!__state_->__has_value() && __state_->use_count() > 1) {
      __state_->set_exception(make_exception_ptr(future_error(make_error_code(future_errc::broken_promise))));
    }
    __state_->__release_shared();
  }
}

future<void> promise<void>::get_future() {
  if (!__state_) {
    __throw_future_error(future_errc::no_state);
  }
  return future<void>(__state_);
}

void promise<void>::set_value() {
  if (!__state_) {
    __throw_future_error(future_errc::no_state);
  }
  __state_->set_value();
}

void promise<void>::set_value_at_thread_exit() {
  if (!__state_) {
    __throw_future_error(future_errc::no_state);
  }
  __state_->set_value_at_thread_exit();
}

void promise<void>::set_exception(exception_ptr exception) {
  if (!__state_) {
    __throw_future_error(future_errc::no_state);
  }
  __state_->set_exception(exception);
}

void promise<void>::set_exception_at_thread_exit(exception_ptr exception) {
  if (!__state_) {
    __throw_future_error(future_errc::no_state);
  }
  __state_->set_exception_at_thread_exit(exception);
}

shared_future<void>::~shared_future() {
  if (__state_) {
    __state_->__release_shared();
  }
}

shared_future<void> &shared_future<void>::operator=(const shared_future &other) {
  shared_future(other).swap(*this);
  return *this;
}

_LIBCPP_END_NAMESPACE_STD

#endif
