// The arguments and the environment of a program are no leaks, also of one that does not look at them.
// flags: -O1 -w
// run: -i 1 --leaks --env A=1 -- a b
// exit: 5
// run: -i 1 --leaks
// exit: 5
int main(int count, char **list, char **environment) { return count == 9 || (environment[0] && environment[1]); }
