package io.glowplug.spark;

import io.glowplug.core.Log;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The application's logger, and stderr for what must be seen where that one swallows it: shells and notebooks log at WARN. */
final class SparkLog implements Log {
    private final Logger logger = LoggerFactory.getLogger("io.glowplug.GlowplugPlugin");

    @Override
    public void announce(String message) {
        if (logger.isInfoEnabled() && !ShellFilter.drops("INFO")) {
            info(message);
            return;
        }
        System.err.println(PREFIX + message);
    }

    @Override
    public void info(String message) {
        logger.info("{}{}", PREFIX, message);
    }

    @Override
    public void warn(String message, Throwable cause) {
        if (logger.isWarnEnabled() && !ShellFilter.drops("WARN")) {
            logger.warn(PREFIX + message, cause);
            return;
        }
        System.err.println(PREFIX + "WARN " + message);
    }
}
