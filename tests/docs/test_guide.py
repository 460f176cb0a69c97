"""The guide's programs, which its readers compile before anything else."""

import zipfile

import pytest

from support import apps


@pytest.mark.parametrize("name", sorted(path.stem for path in apps.GUIDE.glob("*.java")))
def test_a_program_of_the_guide_compiles_against_the_spark_that_runs_it(name, spark, spark_version):
    application = apps.guide_application(name, spark(spark_version))
    with zipfile.ZipFile(application.jar) as jar:
        assert f"{application.main}.class" in jar.namelist()
