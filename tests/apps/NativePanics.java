import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;

/** Argument: Glowplug's jar. Loads its library, calls every native method, and prints what each threw. */
public final class NativePanics {
    public static void main(String[] arguments) throws Exception {
        ClassLoader loader = new URLClassLoader(new URL[] {new File(arguments[0]).toURI().toURL()});
        Class<?> log = loader.loadClass("io.glowplug.core.StderrLog");
        Method open = loader.loadClass("io.glowplug.core.Core")
                .getMethod("open", String.class, String.class, loader.loadClass("io.glowplug.core.Log"));
        print("Core.open", open, "", "", log.getConstructor().newInstance());
        for (Method method : loader.loadClass("io.glowplug.core.Native").getDeclaredMethods()) {
            if (Modifier.isNative(method.getModifiers())) {
                method.setAccessible(true);
                print(method.getName(), method, values(method.getParameterTypes()));
            }
        }
        System.out.println("alive");
    }

    private static void print(String name, Method method, Object... values) throws IllegalAccessException {
        try {
            System.out.println(name + ": returned " + method.invoke(null, values));
        } catch (InvocationTargetException e) {
            System.out.println(name + ": " + e.getCause());
        }
    }

    private static Object[] values(Class<?>[] types) {
        Object[] values = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            values[i] = types[i] == int.class ? (Object) 0 : types[i] == long.class ? (Object) 0L : types[i] == String.class ? "" : new byte[0];
        }
        return values;
    }
}
