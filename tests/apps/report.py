"""A PySpark application: a Java function takes nearly all of one stage's CPU, Python workers do the rest of it."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import LongType

spark = SparkSession.builder.appName("python report").config("spark.sql.execution.pythonUDF.arrow.enabled", "false").getOrCreate()
spark.udf.registerJavaFunction("weigh", "SqlReport$Weigh", LongType())
spark.udf.register("spell", udf(lambda number: len(str(number)), LongType()))
spark.sparkContext.setJobGroup("python", "weigh and spell")
rows = spark.sql("SELECT customer, SUM(weigh(id)) AS weight, SUM(spell(id)) AS letters"
                 " FROM (SELECT id, id % 10 AS customer FROM RANGE(0, 6000, 1, 6)) GROUP BY customer").collect()
for row in sorted(rows):
    print(row.customer, row.weight, row.letters)
print(spark.sparkContext.parallelize(range(1000), 2).map(lambda number: number * number).sum())
spark.stop()
