package io.glowplug.spark;

import io.glowplug.core.Core;
import io.glowplug.core.CoreUnavailable;
import io.glowplug.core.Log;

/** Where the halves get the core from. */
interface CoreSource {
    CoreSource JVM = new CoreSource() {
        @Override
        public Core open(String nativeDir, String sparkLocalDir, Log log) throws CoreUnavailable {
            return Core.open(nativeDir, sparkLocalDir, log);
        }

        @Override
        public Core opened() {
            return Core.opened();
        }
    };

    Core open(String nativeDir, String sparkLocalDir, Log log) throws CoreUnavailable;

    /** Null when nobody has opened it. */
    Core opened();
}
