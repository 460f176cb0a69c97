package io.glowplug.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.Test;

public class FieldsTest {
    @Test
    public void aStringIsItsUtf8BehindABigEndianLength() {
        byte[] expected = {0, 0, 0, 2, 'a', 'b', 0, 0, 0, 0, 0, 0, 0, 2, (byte) 0xc3, (byte) 0xa9};
        assertArrayEquals(expected, Fields.encode("ab", "", "\u00e9"));
    }

    @Test
    public void whatWasEncodedIsDecoded() {
        String flame = new String(Character.toChars(0x1f525));
        List<String> fields = Arrays.asList("stage", "", "\u0000", "\u00e9\u4e2d", flame, "a=b,c");
        assertEquals(fields, Fields.decode(Fields.encode(fields)));
        assertEquals(Collections.emptyList(), Fields.decode(new byte[0]));
    }

    @Test
    public void theBlobIsWhatFollowsTheCountedStrings() {
        byte[] encoded = Fields.encodeWithBlob(Arrays.asList("7", "delta"), new byte[] {0, 0, 0, 9, -1});
        assertArrayEquals(new byte[] {0, 0, 0, 2, 0, 0, 0, 1, '7'}, Arrays.copyOf(encoded, 9));
        Fields.Message message = Fields.decodeWithBlob(encoded);
        assertEquals(Arrays.asList("7", "delta"), message.fields);
        assertArrayEquals(new byte[] {0, 0, 0, 9, -1}, message.blob);
    }

    @Test
    public void aLengthBeyondTheEndIsRefusedBeforeAnythingIsAllocated() {
        IllegalArgumentException negative =
                assertThrows(IllegalArgumentException.class, () -> Fields.decode(new byte[] {-1, -1, -1, -1, 'a'}));
        assertEquals("a field of 4294967295 bytes at byte 0, but only 1 bytes follow", negative.getMessage());
        byte[] manyFields = {127, -1, -1, -1, 0, 0, 0, 0};
        IllegalArgumentException count = assertThrows(IllegalArgumentException.class, () -> Fields.decodeWithBlob(manyFields));
        assertEquals("a length is cut at byte 8 of 8", count.getMessage());
    }

    @Test
    public void aCutLengthIsRefused() {
        byte[] bytes = {0, 0, 0, 1, 'a', 0, 0};
        IllegalArgumentException cut = assertThrows(IllegalArgumentException.class, () -> Fields.decode(bytes));
        assertEquals("a length is cut at byte 5 of 7", cut.getMessage());
    }
}
