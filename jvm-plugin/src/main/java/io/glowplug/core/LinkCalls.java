package io.glowplug.core;

import java.util.function.Function;

/** A {@link Link} as a JDK type, so that the io thread of another class loader can call it. */
final class LinkCalls implements Function<Object[], Object> {
    private final Link link;

    LinkCalls(Link link) {
        this.link = link;
    }

    @Override
    public Object apply(Object[] call) {
        try {
            switch ((String) call[0]) {
                case "ask":
                    return link.ask((byte[]) call[1]);
                case "write":
                    link.write((String) call[1], (byte[]) call[2]);
                    return null;
                case "delete":
                    link.delete((String) call[1]);
                    return null;
                case "log":
                    link.log((String) call[1], (String) call[2]);
                    return null;
                default:
                    throw new IllegalArgumentException("no link call " + call[0]);
            }
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e.toString(), e);
        }
    }
}
