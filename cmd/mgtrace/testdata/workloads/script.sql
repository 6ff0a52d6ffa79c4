create table t(a integer primary key, b text, c);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
	insert into t select i, 'v' || (i * 7919 % 1000), json_object('k', i, 'l', json_array(i, i * 2)) from n;
create index tb on t(b);
create virtual table f using fts5(x);
insert into f select b || ' ' || a from t;
select count(*) from f where f match 'v77';
select b, count(*), sum(a) from t group by b order by 2 desc, 1 limit 5;
select sum(json_extract(c, '$.l[1]')) from t;
delete from t where a % 3 = 0;
update t set b = b || 'x' where a % 5 = 0;
select count(*), min(b), max(b) from t;
pragma integrity_check;
