import org.apache.spark.sql.api.java.UDF2;

/** A Java UDF with a known call chain: call, outer, forty times mix. */
public class Mix implements UDF2<Long, Long, Long> {
    @Override
    public Long call(Long left, Long right) {
        return outer(left, right);
    }

    static long outer(long left, long right) {
        long value = left;
        for (int round = 0; round < 40; round++) {
            value = mix(value, right + round);
        }
        return Math.floorMod(value, 1_000_003L);
    }

    static long mix(long value, long salt) {
        long mixed = (value ^ salt) * 0x9E3779B97F4A7C15L;
        mixed = (mixed ^ (mixed >>> 29)) * 0xBF58476D1CE4E5B9L;
        return mixed ^ (mixed >>> 32);
    }
}
