"""A TPC-H-like day of a Spark SQL application, from ranges and hashes alone: workload.py <scale> <passes>

Data cost CPU on every scan and are the same in every run. The last line is JSON: CPU seconds of this JVM by pass, from
/proc, around the queries only.
"""

import json
import os
import sys
import time

from pyspark.sql import SparkSession

TICKS = os.sysconf("SC_CLK_TCK")


def main(scale: float, passes: int) -> None:
    spark = SparkSession.builder.appName("overhead").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.udf.registerJavaFunction("mix", "Mix", "bigint")
    make_tables(spark, int(6_000_000 * scale))
    jvm = os.getppid()
    results = []
    for _ in range(passes):
        cpu, wall = cpu_seconds(jvm), time.monotonic()
        for query in QUERIES.values():
            spark.sql(query).collect()
        results.append({"cpu": cpu_seconds(jvm) - cpu, "wall": time.monotonic() - wall})
    print(json.dumps(results), flush=True)
    spark.stop()


def cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def make_tables(spark, items: int) -> None:
    orders = items // 4
    customers, parts = max(1000, orders // 10), max(1000, items // 30)

    def table(name: str, rows: int, columns: list, partitions: int = 8) -> None:
        spark.range(0, rows, 1, partitions).selectExpr(*columns).createOrReplaceTempView(name)

    table("customer", customers, [
        "id as c_key",
        f"{pick(1, 25)} as c_nation",
        "concat('Customer#', lpad(cast(id as string), 9, '0')) as c_name",
        f"element_at(array('AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD'), cast({pick(2, 5)} as int) + 1) as c_segment",
    ], 2)
    table("orders", orders, [
        "id as o_key",
        f"{pick(4, customers)} as o_customer",
        f"date_add(date'1992-01-01', cast({pick(5, 2400)} as int)) as o_date",
        f"concat_ws(' ', 'special', cast({pick(6, 9999)} as string), 'requests pending', sha1(cast(id as string))) as o_comment",
        f"{pick(7, 5)} as o_priority",
    ])
    table("lineitem", items, [
        "id as l_id",
        "id div 4 as l_order",
        f"{pick(8, parts)} as l_part",
        f"{pick(9, 1000)} as l_supplier",
        f"cast({pick(10, 50)} + 1 as double) as l_quantity",
        f"{pick(11, 10_000_000)} / 100.0 as l_price",
        f"{pick(12, 11)} / 100.0 as l_discount",
        f"{pick(13, 9)} / 100.0 as l_tax",
        f"element_at(array('A', 'N', 'R'), cast({pick(14, 3)} as int) + 1) as l_flag",
        f"date_add(date'1992-01-02', cast({pick(15, 2500)} as int)) as l_ship",
    ])
    table("part", parts, [
        "id as p_key",
        f"concat_ws(' ', element_at(array('LARGE', 'SMALL', 'PROMO', 'ECONOMY'), cast({pick(16, 4)} as int) + 1), 'ANODIZED', "
        f"element_at(array('TIN', 'BRASS', 'STEEL'), cast({pick(17, 3)} as int) + 1)) as p_type",
    ], 2)


def pick(salt: int, values: int) -> str:
    """A number below `values`, the same for the same id."""
    return f"pmod(xxhash64(id, {salt}), {values})"


QUERIES = {
    "aggregate": "select l_flag, year(l_ship) as y, sum(l_quantity), sum(l_price * (1 - l_discount)), "
                 "sum(l_price * (1 - l_discount) * (1 + l_tax)), avg(l_discount), count(*) "
                 "from lineitem where l_ship <= date'1998-09-02' group by 1, 2 order by 1, 2",
    "join": "select /*+ SHUFFLE_MERGE(o, l) */ l_order, sum(l_price * (1 - l_discount)) as revenue, o_date "
            "from customer c join orders o on c_key = o_customer join lineitem l on l_order = o_key "
            "where c_segment in ('BUILDING', 'MACHINERY') and o_date < date'1997-03-15' "
            "group by 1, 3 order by revenue desc limit 20",
    "text": "select c_count, count(*) as n from (select c_key, count(o_key) as c_count from customer left join orders "
            "on c_key = o_customer and not o_comment rlike '.*special.*9+.*requests.*[a-f]{3}.*' group by c_key) "
            "group by 1 order by 2 desc",
    "hash": "select /*+ SHUFFLE_HASH(p) */ p_type, sum(case when p_type like 'PROMO%' then l_price * (1 - l_discount) else 0 end) "
            "/ sum(l_price * (1 - l_discount)) from lineitem join part p on l_part = p_key group by p_type order by 1",
    "window": "select c_name, o_key, t, place from (select c_name, o_key, t, "
              "row_number() over (partition by c_nation order by t desc, o_key) as place from "
              "(select o_key, o_customer, sum(l_quantity) as t from lineitem join orders on o_key = l_order "
              "group by 1, 2 having sum(l_quantity) > 110) join customer on c_key = o_customer) where place <= 3 order by 1, 2",
    "distinct": "select l_supplier % 10 as g, count(distinct l_part), approx_count_distinct(l_order) from lineitem group by 1 order by 1",
    "sort": "select md5(concat_ws('|', collect_list(j))) from (select to_json(named_struct('o', o_key, 'd', o_date, 'c', "
            "substr(o_comment, 1, 12))) as j, o_priority from orders distribute by o_priority sort by o_comment) where o_priority = 1",
    "udf": "select u % 100 as g, count(*), sum(u) from (select mix(l_id, l_part) as u from lineitem) group by 1 order by 1 limit 5",
}

if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
