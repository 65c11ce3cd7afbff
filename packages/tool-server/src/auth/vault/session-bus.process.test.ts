import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { systemKeychain } from "./keychain.js";

test.runIf(process.platform === "linux")(
  "finds no keychain without a session bus, and does not load its library",
  async () => {
    vi.stubEnv("DBUS_SESSION_BUS_ADDRESS", undefined);
    vi.stubEnv("XDG_RUNTIME_DIR", "/nonexistent");
    try {
      await expect(systemKeychain().read("a")).rejects.toMatchObject({
        code: "KEYCHAIN_UNAVAILABLE",
        message: expect.stringContaining("this session has no D-Bus"),
      });
      expect(readFileSync("/proc/self/maps", "latin1")).not.toContain("keyring");
    } finally {
      vi.unstubAllEnvs();
    }
  },
);
