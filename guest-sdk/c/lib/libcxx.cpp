// The part of libc++'s library that one built without threads lacks: see include/c++/__config_site. Based on
// pthread.h, with the interface that its headers declare.
#include <version>

#ifdef COYOTE_LIBCXX_THREADS

#include <coyote_shim.h>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <errno.h>
#include <time.h>

extern "C" [[noreturn]] void __coyote_bug(const char *what);

_LIBCPP_BEGIN_NAMESPACE_STD

static void check(int error, const char *what) {
  if (error) {
    __coyote_bug(what);
  }
}

// ---- Mutexes ----

void mutex::lock() {
  check(__libcpp_mutex_lock(&__m_), "std::mutex::lock failed");
}

bool mutex::try_lock() noexcept {
  return __libcpp_mutex_trylock(&__m_);
}

void mutex::unlock() noexcept {
  check(__libcpp_mutex_unlock(&__m_), "std::mutex::unlock failed");
}

mutex::~mutex() noexcept {
  __libcpp_mutex_destroy(&__m_);
}

recursive_mutex::recursive_mutex() {
  check(__libcpp_recursive_mutex_init(&__m_), "std::recursive_mutex cannot be made");
}

recursive_mutex::~recursive_mutex() {
  __libcpp_recursive_mutex_destroy(&__m_);
}

void recursive_mutex::lock() {
  check(__libcpp_recursive_mutex_lock(&__m_), "std::recursive_mutex::lock failed");
}

void recursive_mutex::unlock() noexcept {
  check(__libcpp_recursive_mutex_unlock(&__m_),
        "std::recursive_mutex::unlock: the caller does not hold it");
}

bool recursive_mutex::try_lock() noexcept {
  return __libcpp_recursive_mutex_trylock(&__m_);
}

timed_mutex::timed_mutex() : __locked_(false) {}

timed_mutex::~timed_mutex() {
  lock_guard<mutex> guard(__m_);
}

void timed_mutex::lock() {
  unique_lock<mutex> guard(__m_);
  while (__locked_) {
    __cv_.wait(guard);
  }
  __locked_ = true;
}

bool timed_mutex::try_lock() noexcept {
  unique_lock<mutex> guard(__m_, try_to_lock);
  if (!guard.owns_lock() || __locked_) {
    return false;
  }
  __locked_ = true;
  return true;
}

void timed_mutex::unlock() noexcept {
  lock_guard<mutex> guard(__m_);
  __locked_ = false;
  __cv_.notify_one();
}

recursive_timed_mutex::recursive_timed_mutex() : __count_(0), __id_{} {}

recursive_timed_mutex::~recursive_timed_mutex() {
  lock_guard<mutex> guard(__m_);
}

void recursive_timed_mutex::lock() {
  __thread_id self = this_thread::get_id();
  unique_lock<mutex> guard(__m_);
  while (__count_ != 0 && self != __id_) {
    __cv_.wait(guard);
  }
  __count_++;
  __id_ = self;
}

bool recursive_timed_mutex::try_lock() noexcept {
  __thread_id self = this_thread::get_id();
  unique_lock<mutex> guard(__m_, try_to_lock);
  if (!guard.owns_lock() || (__count_ != 0 && self != __id_)) {
    return false;
  }
  __count_++;
  __id_ = self;
  return true;
}

void recursive_timed_mutex::unlock() noexcept {
  unique_lock<mutex> guard(__m_);
  if (--__count_ == 0) {
    __id_ = __thread_id();
    guard.unlock();
    __cv_.notify_one();
  }
}

// std::shared_mutex is the tool's rwlock, identified by its address.

static uint32_t address(void *object) {
  return (uint32_t)(uintptr_t)object;
}

__shared_mutex_base::__shared_mutex_base() : __state_(0) {}

void __shared_mutex_base::lock() {
  check((int)coyote_raw_rwlock_write(address(this), -1), "std::shared_mutex::lock: the caller has it already");
}

bool __shared_mutex_base::try_lock() {
  return coyote_raw_rwlock_try_write(address(this)) == 0;
}

void __shared_mutex_base::unlock() {
  coyote_raw_rwlock_unlock(address(this));
}

void __shared_mutex_base::lock_shared() {
  check((int)coyote_raw_rwlock_read(address(this), -1),
        "std::shared_mutex::lock_shared: the caller has it already");
}

bool __shared_mutex_base::try_lock_shared() {
  return coyote_raw_rwlock_try_read(address(this)) == 0;
}

void __shared_mutex_base::unlock_shared() {
  coyote_raw_rwlock_unlock(address(this));
}

// std::shared_timed_mutex has its state in the object, where the templates of its timed functions look for
// it: a writer enters through the first gate, and waits at the second one until the readers have left.

shared_timed_mutex::shared_timed_mutex() : __base_() {}

void shared_timed_mutex::lock() {
  unique_lock<mutex> guard(__base_.__mut_);
  while (__base_.__state_ & __base_.__write_entered_) {
    __base_.__gate1_.wait(guard);
  }
  __base_.__state_ |= __base_.__write_entered_;
  while (__base_.__state_ & __base_.__n_readers_) {
    __base_.__gate2_.wait(guard);
  }
}

bool shared_timed_mutex::try_lock() {
  unique_lock<mutex> guard(__base_.__mut_);
  if (__base_.__state_ != 0) {
    return false;
  }
  __base_.__state_ = __base_.__write_entered_;
  return true;
}

void shared_timed_mutex::unlock() {
  lock_guard<mutex> guard(__base_.__mut_);
  __base_.__state_ = 0;
  __base_.__gate1_.notify_all();
}

void shared_timed_mutex::lock_shared() {
  unique_lock<mutex> guard(__base_.__mut_);
  while (__base_.__state_ >= __base_.__n_readers_) {
    __base_.__gate1_.wait(guard);
  }
  __base_.__state_++;
}

bool shared_timed_mutex::try_lock_shared() {
  unique_lock<mutex> guard(__base_.__mut_);
  if (__base_.__state_ >= __base_.__n_readers_) {
    return false;
  }
  __base_.__state_++;
  return true;
}

void shared_timed_mutex::unlock_shared() {
  lock_guard<mutex> guard(__base_.__mut_);
  unsigned readers = --__base_.__state_ & __base_.__n_readers_;
  if (__base_.__state_ & __base_.__write_entered_) {
    if (readers == 0) {
      __base_.__gate2_.notify_one();
    }
  } else if (readers == __base_.__n_readers_ - 1) {
    __base_.__gate1_.notify_one();
  }
}

// The locks behind std::atomic_load and the like on a shared_ptr.

static constinit mutex pointer_locks[16];

constexpr __sp_mut::__sp_mut(void *lock) noexcept : __lx_(lock) {}

void __sp_mut::lock() noexcept {
  static_cast<mutex *>(__lx_)->lock();
}

void __sp_mut::unlock() noexcept {
  static_cast<mutex *>(__lx_)->unlock();
}

__sp_mut &__get_sp_mut(const void *pointer) {
  static constinit __sp_mut locks[16] = {
      &pointer_locks[0],  &pointer_locks[1],  &pointer_locks[2],  &pointer_locks[3],
      &pointer_locks[4],  &pointer_locks[5],  &pointer_locks[6],  &pointer_locks[7],
      &pointer_locks[8],  &pointer_locks[9],  &pointer_locks[10], &pointer_locks[11],
      &pointer_locks[12], &pointer_locks[13], &pointer_locks[14], &pointer_locks[15],
  };
  return locks[(uintptr_t)pointer / 8 % 16];
}

// ---- Condition variables ----

condition_variable::~condition_variable() {
  __libcpp_condvar_destroy(&__cv_);
}

void condition_variable::notify_one() noexcept {
  __libcpp_condvar_signal(&__cv_);
}

void condition_variable::notify_all() noexcept {
  __libcpp_condvar_broadcast(&__cv_);
}

void condition_variable::wait(unique_lock<mutex> &guard) noexcept {
  if (!guard.owns_lock()) {
    __coyote_bug("std::condition_variable::wait: the mutex is not locked");
  }
  __libcpp_condvar_wait(&__cv_, guard.mutex()->native_handle());
}

void condition_variable::__do_timed_wait(
    unique_lock<mutex> &guard,
    chrono::time_point<chrono::system_clock, chrono::nanoseconds> until) noexcept {
  if (!guard.owns_lock()) {
    __coyote_bug("std::condition_variable::wait_until: the mutex is not locked");
  }
  long long nanoseconds = until.time_since_epoch().count();
  timespec time = {};
  if (nanoseconds > 0) {
    time.tv_sec = nanoseconds / 1000000000;
    time.tv_nsec = (long)(nanoseconds % 1000000000);
  }
  __libcpp_condvar_timedwait(&__cv_, guard.mutex()->native_handle(), &time);
}

// ---- Once ----

// The mutex has the flag's address: threads that arrive while the function runs wait for its end.
void __call_once(volatile once_flag::_State_type &flag, void *argument, void (*function)(void *)) {
  coyote_raw_mutex_lock(COYOTE_ADDRESS(&flag), COYOTE_NO_TIMEOUT);
  if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == once_flag::_Unset) {
    function(argument);
    __atomic_store_n(&flag, once_flag::_Complete, __ATOMIC_RELEASE);
  }
  coyote_raw_mutex_unlock(COYOTE_ADDRESS(&flag));
}

// ---- Threads ----

thread::~thread() {
  if (joinable()) {
    __coyote_bug("a std::thread is destroyed that was neither joined nor detached");
  }
}

void thread::join() {
  if (__libcpp_thread_isnull(&__t_)) {
    __coyote_bug("std::thread::join: the thread is not joinable");
  }
  check(__libcpp_thread_join(&__t_), "std::thread::join: a thread joins itself");
  __t_ = _LIBCPP_NULL_THREAD;
}

void thread::detach() {
  if (__libcpp_thread_isnull(&__t_)) {
    __coyote_bug("std::thread::detach: the thread is not joinable");
  }
  check(__libcpp_thread_detach(&__t_), "std::thread::detach failed");
  __t_ = _LIBCPP_NULL_THREAD;
}

unsigned thread::hardware_concurrency() noexcept {
  return 2;
}

void this_thread::sleep_for(const chrono::nanoseconds &span) {
  if (span > chrono::nanoseconds::zero()) {
    __libcpp_thread_sleep_for(span);
  }
}

_LIBCPP_END_NAMESPACE_STD

#endif
