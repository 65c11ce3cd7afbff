import { describe, expect, test } from "vitest";
import { isSecretName } from "./secret-names.js";

describe("the name of a variable, an argument or a header", () => {
  test.each(["API_KEY", "githubToken", "db-pwd", "DB_PWD", "pwd", "DATABASE_URL", "Authorization"])(
    "tells a secret: %s",
    (name) => {
      expect(isSecretName(name)).toBe(true);
    },
  );

  test.each(["KEY_FILE", "TOKEN_LIMIT", "AUTH_URL", "HOME", "PATH", "OLDPWD"])("tells none: %s", (name) => {
    expect(isSecretName(name)).toBe(false);
  });

  test("is not that of a password where it is the working directory of a shell", () => {
    expect(isSecretName("PWD")).toBe(false);
  });
});
