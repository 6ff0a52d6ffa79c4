// A heap of jobs in a std::vector, each of which knows its place. g++ has all of it in main; of the library's
// statements that make the vector it stores two at once, at the line of one, and one not at all, since memory holds the
// value already. None of these is executed again.
// FAULT: a job whose priority changes is not counted anew.
#include <cstdio>
#include <vector>

struct Job {
	int prio, place, id;
};

class Heap {
	std::vector<Job *> jobs;
	int total = 0;
	void put(Job *j, size_t i) {
		jobs[i] = j;
		j->place = (int)i;
	}
	void up(size_t i) {
		Job *j = jobs[i];
		while (i > 0 && jobs[(i - 1) / 2]->prio > j->prio) {
			put(jobs[(i - 1) / 2], i);
			i = (i - 1) / 2;
		}
		put(j, i);
	}
	void down(size_t i) {
		Job *j = jobs[i];
		for (size_t c = 2 * i + 1; c < jobs.size(); c = 2 * i + 1) {
			if (c + 1 < jobs.size() && jobs[c + 1]->prio < jobs[c]->prio) c++;
			if (jobs[c]->prio >= j->prio) break;
			put(jobs[c], i);
			i = c;
		}
		put(j, i);
	}

public:
	size_t size() const { return jobs.size(); }
	Job *any(size_t i) { return jobs[i]; }
	void push(int prio, int id) {
		Job *j = new Job{prio, (int)jobs.size(), id};
		jobs.push_back(j);
		up(jobs.size() - 1);
		total += prio;
	}
	int pop() {
		Job *j = jobs[0], *last = jobs.back();
		jobs.pop_back();
		if (!jobs.empty()) {
			jobs[0] = last;
			down(0);
		}
		int id = j->id;
		total -= j->prio;
		delete j;
		return id;
	}
	void change(Job *j, int prio) {
#ifndef FAULT
		total += prio - j->prio;
#endif
		j->prio = prio; // FAULT
		up(j->place);
		down(j->place);
	}
};

int main() {
	Heap none;
	Heap *q = new Heap(none);
	unsigned s = 2;
	auto rnd = [&](unsigned n) {
		s = s * 1103515245 + 12345;
		return (s >> 16) % n;
	};
	long sum = 0;
	for (int i = 0; i < 300; i++) {
		unsigned k = rnd(6);
		if (k < 3 || q->size() < 2)
			q->push((int)rnd(100), i);
		else if (k < 5)
			q->change(q->any(rnd((unsigned)q->size())), (int)rnd(100));
		else
			sum += q->pop();
	}
	std::printf("%ld\n", sum);
	while (q->size()) q->pop();
	delete q;
}
