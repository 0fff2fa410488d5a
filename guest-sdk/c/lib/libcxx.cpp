// The part of libc++'s library that one built without threads lacks: see include/c++/__config_site. Based on
// pthread.h, with the interface that its headers declare.
#include <version>

#ifdef COYOTE_LIBCXX_THREADS

#include <atomic>
#include <coyote_shim.h>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <errno.h>
#include <time.h>

// The word of a pthread_mutex_t, which pthread.h does not use, that says what the mutex is a part of.
enum { ROLE = 1 };
// The first member of a std::shared_mutex, or of a std::shared_timed_mutex.
enum { SHARED = 0x54a2ed, SHARED_TIMED };

extern "C" {
[[noreturn]] void __coyote_misuse_parts(const volatile void *object, const char *const *parts);

// Memory accesses of functions with such names are no scheduling points.
__attribute__((noinline)) void __coyote_set_role(pthread_mutex_t *mutex, int role) {
  mutex->__u.__i[ROLE] = role;
}

__attribute__((noinline)) int __coyote_get_role(const pthread_mutex_t *mutex) {
  return mutex->__u.__i[ROLE];
}

__attribute__((noinline)) void __coyote_set_state(std::__shared_mutex_base *mutex, unsigned state) {
  mutex->__state_ = state;
}

__attribute__((noinline)) unsigned __coyote_get_state(const std::__shared_mutex_base *mutex) {
  return mutex->__state_;
}
}

_LIBCPP_BEGIN_NAMESPACE_STD

// A part of the function that a report names.
#define INLINE static inline __attribute__((always_inline))

// For a call on the object: an error is a bug.
static void check(int error, const void *object, const char *what) {
  if (error) {
    __coyote_misuse(object, what);
  }
}

// ---- Mutexes ----

void mutex::lock() {
  check(__libcpp_mutex_lock(&__m_), this, "std::mutex::lock failed");
}

bool mutex::try_lock() noexcept {
  return __libcpp_mutex_trylock(&__m_);
}

void mutex::unlock() noexcept {
  check(__libcpp_mutex_unlock(&__m_), this, "std::mutex::unlock failed");
}

// Of a std::shared_mutex and a std::shared_timed_mutex, this is all in this library that their destructors call.
mutex::~mutex() noexcept {
  if (__coyote_get_role(&__m_)) {
    coyote_raw_rwlock_destroy(COYOTE_ADDRESS(this));
  }
  __libcpp_mutex_destroy(&__m_);
}

recursive_mutex::recursive_mutex() {
  check(__libcpp_recursive_mutex_init(&__m_), this, "std::recursive_mutex cannot be made");
}

recursive_mutex::~recursive_mutex() {
  __libcpp_recursive_mutex_destroy(&__m_);
}

void recursive_mutex::lock() {
  check(__libcpp_recursive_mutex_lock(&__m_), this, "std::recursive_mutex::lock failed");
}

void recursive_mutex::unlock() noexcept {
  check(__libcpp_recursive_mutex_unlock(&__m_), this, "std::recursive_mutex::unlock: the caller does not hold it");
}

bool recursive_mutex::try_lock() noexcept {
  return __libcpp_recursive_mutex_trylock(&__m_);
}

INLINE bool lock_within(pthread_mutex_t *mutex, long long nanoseconds) {
  if (nanoseconds <= 0) {
    return !pthread_mutex_trylock(mutex);
  }
  return __coyote_mutex_used(mutex, (int)coyote_raw_mutex_lock(__coyote_mutex(mutex), nanoseconds)) == 0;
}

timed_mutex::~timed_mutex() {
  pthread_mutex_destroy(&__m_);
}

void timed_mutex::lock() {
  check(pthread_mutex_lock(&__m_), this, "std::timed_mutex::lock failed");
}

bool timed_mutex::try_lock() noexcept {
  return pthread_mutex_trylock(&__m_) == 0;
}

bool timed_mutex::__lock_within(long long nanoseconds) noexcept {
  return lock_within(&__m_, nanoseconds);
}

void timed_mutex::unlock() noexcept {
  check(pthread_mutex_unlock(&__m_), this, "std::timed_mutex::unlock failed");
}

recursive_timed_mutex::~recursive_timed_mutex() {
  pthread_mutex_destroy(&__m_);
}

void recursive_timed_mutex::lock() {
  check(pthread_mutex_lock(&__m_), this, "std::recursive_timed_mutex::lock failed");
}

bool recursive_timed_mutex::try_lock() noexcept {
  return pthread_mutex_trylock(&__m_) == 0;
}

bool recursive_timed_mutex::__lock_within(long long nanoseconds) noexcept {
  return lock_within(&__m_, nanoseconds);
}

void recursive_timed_mutex::unlock() noexcept {
  check(pthread_mutex_unlock(&__m_), this, "std::recursive_timed_mutex::unlock: the caller does not hold it");
}

// A std::shared_mutex or std::shared_timed_mutex is the tool's rwlock, identified by its address. Its state is the thread
// that holds it alone, plus 1: 0 if none does.

static unsigned self() {
  return coyote_raw_current() + 1;
}

// For a call of the member function.
INLINE void check_shared(bool error, __shared_mutex_base *mutex, const char *function, const char *what) {
  if (error) {
    const bool timed = __coyote_get_role(mutex->__mut_.native_handle()) == SHARED_TIMED;
    const char *parts[] = {timed ? "std::shared_timed_mutex::" : "std::shared_mutex::", function, ": the caller ", what, nullptr};
    __coyote_misuse_parts(mutex, parts);
  }
}

INLINE bool lock_alone(__shared_mutex_base *mutex, const char *function, long long nanoseconds) {
  int error = __coyote_rwlock_used(mutex, (int)coyote_raw_rwlock_write(__coyote_rwlock(mutex), nanoseconds));
  check_shared(error != 0 && error != ETIMEDOUT, mutex, function, "has it already");
  if (error) {
    return false;
  }
  __coyote_set_state(mutex, self());
  return true;
}

INLINE bool lock_to_read(__shared_mutex_base *mutex, const char *function, long long nanoseconds) {
  int error = __coyote_rwlock_used(mutex, (int)coyote_raw_rwlock_read(__coyote_rwlock(mutex), nanoseconds));
  check_shared(error != 0 && error != ETIMEDOUT, mutex, function, "has it already");
  return error == 0;
}

__shared_mutex_base::__shared_mutex_base() : __state_(0) {
  __coyote_set_role(__mut_.native_handle(), SHARED);
}

void __shared_mutex_base::lock() {
  lock_alone(this, "lock", COYOTE_NO_TIMEOUT);
}

bool __shared_mutex_base::try_lock() {
  bool locked = !__coyote_rwlock_used(this, (int)coyote_raw_rwlock_try_write(__coyote_rwlock(this)));
  if (locked) {
    __coyote_set_state(this, self());
  }
  return locked;
}

void __shared_mutex_base::unlock() {
  check_shared(__coyote_get_state(this) != self(), this, "unlock", "does not hold it alone");
  __coyote_set_state(this, 0);
  __coyote_rwlock_used(this, (int)coyote_raw_rwlock_unlock(__coyote_rwlock(this)));
}

void __shared_mutex_base::lock_shared() {
  lock_to_read(this, "lock_shared", COYOTE_NO_TIMEOUT);
}

bool __shared_mutex_base::try_lock_shared() {
  return !__coyote_rwlock_used(this, (int)coyote_raw_rwlock_try_read(__coyote_rwlock(this)));
}

void __shared_mutex_base::unlock_shared() {
  check_shared(__coyote_get_state(this) == self(), this, "unlock_shared", "holds it alone");
  __coyote_rwlock_used(this, (int)coyote_raw_rwlock_unlock(__coyote_rwlock(this)));
}

void shared_timed_mutex::__make() {
  __coyote_set_role(__base_.__mut_.native_handle(), SHARED_TIMED);
}

bool shared_timed_mutex::__lock_within(long long nanoseconds) {
  return nanoseconds > 0 ? lock_alone(&__base_, "try_lock_for", nanoseconds) : __base_.try_lock();
}

bool shared_timed_mutex::__lock_shared_within(long long nanoseconds) {
  return nanoseconds > 0 ? lock_to_read(&__base_, "try_lock_shared_for", nanoseconds) : __base_.try_lock_shared();
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
    __coyote_misuse(this, "std::condition_variable::wait: the mutex is not locked");
  }
  __libcpp_condvar_wait(&__cv_, guard.mutex()->native_handle());
}

void condition_variable::__do_timed_wait(
    unique_lock<mutex> &guard,
    chrono::time_point<chrono::system_clock, chrono::nanoseconds> until) noexcept {
  if (!guard.owns_lock()) {
    __coyote_misuse(this, "std::condition_variable::wait_until: the mutex is not locked");
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
    __coyote_misuse(this, "a std::thread is destroyed that was neither joined nor detached");
  }
}

void thread::join() {
  if (__libcpp_thread_isnull(&__t_)) {
    __coyote_misuse(this, "std::thread::join: the thread is not joinable");
  }
  check(__libcpp_thread_join(&__t_), this, "std::thread::join: a thread joins itself");
  __t_ = _LIBCPP_NULL_THREAD;
}

void thread::detach() {
  if (__libcpp_thread_isnull(&__t_)) {
    __coyote_misuse(this, "std::thread::detach: the thread is not joinable");
  }
  check(__libcpp_thread_detach(&__t_), this, "std::thread::detach failed");
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
