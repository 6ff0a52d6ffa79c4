// Two threads book transfers between accounts in a std::map of their own and at
// last into a common one; what cannot be booked is thrown as an exception.
// Argument: transfers of each thread.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Account {
	long balance = 1000;
	std::vector<std::string> notes;
};
using Ledger = std::map<int, Account>;

class Random {
	unsigned state;
public:
	explicit Random(unsigned seed) : state(seed) {}
	unsigned operator()(unsigned below) { return ((state = state * 1103515245u + 12345u) >> 8) % below; }
};

static std::mutex lock;
static std::map<int, long> total;
static long refused;

static void book(Ledger &ledger, int from, int to, long amount) {
	Account &payer = ledger[from];
	if (payer.balance < amount) throw std::runtime_error("account " + std::to_string(from) + " is overdrawn");
	payer.balance -= amount;
	Account &payee = ledger[to];
	payee.balance += amount;
	payee.notes.push_back("from " + std::to_string(from) + ": " + std::to_string(amount));
	if (payee.notes.size() > 16) payee.notes.erase(payee.notes.begin(), payee.notes.begin() + 8);
}

__attribute__((noinline)) size_t settle(Ledger &ledger) {
	std::lock_guard<std::mutex> held(lock);
	for (auto &[number, account] : ledger) total[number] += account.balance;
	return total.size();
}

static void work(unsigned seed, int transfers) {
	Random random(seed);
	auto ledger = std::make_unique<Ledger>();
	long failed = 0;
	for (int i = 0; i < transfers; i++) {
		try {
			book(*ledger, random(3000), random(3000), random(900));
		} catch (const std::runtime_error &e) {
			failed += e.what()[8] != '0';
		}
		if (i % 1000 == 999) ledger->erase(random(3000));
		if (i % 100000 == 99999) {
			settle(*ledger);
			ledger = std::make_unique<Ledger>();
		}
	}
	settle(*ledger);
	std::lock_guard<std::mutex> held(lock);
	refused += failed;
}

int main(int argc, char **argv) {
	int transfers = argc > 1 ? std::atoi(argv[1]) : 1000;
	std::thread a(work, 1, transfers), b(work, 2, transfers);
	a.join();
	b.join();
	long sum = 0;
	for (auto &[number, balance] : total) sum += balance ^ number;
	std::printf("%zu accounts, %ld refused, sum %ld\n", total.size(), refused, sum);
}
