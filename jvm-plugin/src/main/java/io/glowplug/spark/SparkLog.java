package io.glowplug.spark;

import io.glowplug.core.Log;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The application's logger, and stderr where that one would swallow the line (shells and notebooks log at WARN). */
final class SparkLog implements Log {
    private final Logger logger = LoggerFactory.getLogger("io.glowplug.GlowplugPlugin");

    @Override
    public void info(String message) {
        if (logger.isInfoEnabled()) {
            logger.info("{}{}", PREFIX, message);
            return;
        }
        System.err.println(PREFIX + message);
    }

    @Override
    public void warn(String message, Throwable cause) {
        if (logger.isWarnEnabled()) {
            logger.warn(PREFIX + message, cause);
            return;
        }
        System.err.println(PREFIX + "WARN " + message);
    }
}
