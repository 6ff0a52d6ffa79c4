/* What a healthy C++ program does: containers, strings, exceptions, threads. */
#include <map>
#include <string>
#include <vector>
#include <list>
#include <memory>
#include <thread>
#include <algorithm>
#include <sstream>
#include <iostream>
#include <unordered_map>
#include <deque>
#include <stdexcept>
int f(int i){ if(i%7==0) throw std::runtime_error("x"+std::to_string(i)); return i; }
int main(){
  std::map<std::string,std::vector<int>> m; std::unordered_map<int,std::string> u; std::deque<double> d; std::list<std::shared_ptr<int>> l;
  for(int i=0;i<200;i++){ m["k"+std::to_string(i%37)].push_back(i); u[i*31]=std::string(i%50,'c'); d.push_front(i); l.push_back(std::make_shared<int>(i)); if(i%3==0) l.pop_front(); }
  std::stringstream ss; for(auto&[k,v]:m) for(int x:v) ss<<k<<x<<' ';
  std::string s=ss.str(); std::sort(s.begin(),s.end());
  int c=0; for(int i=1;i<50;i++) try{c+=f(i);}catch(std::exception&e){c+=e.what()[0];}
  std::vector<std::thread> t; std::vector<long> r(4); for(int k=0;k<4;k++) t.emplace_back([&r,k]{ std::vector<int> v; for(int i=0;i<500;i++) v.insert(v.begin()+i/2,i*k); long z=0; for(int x:v) z+=x; r[k]=z; }); for(auto&x:t) x.join();
  for(int i=0;i<100;i++) u.erase(i*31);
  std::cout<<s.size()<<' '<<c<<' '<<r[3]<<' '<<u.size()<<' '<<d.size()<<std::endl; }
