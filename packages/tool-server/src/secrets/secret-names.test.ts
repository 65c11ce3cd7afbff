import { describe, expect, test } from "vitest";
import { isCredentialHeader, isSecretName, isTenantHeader } from "./secret-names.js";

describe("the name of a variable, an argument or a header", () => {
  test.each(["API_KEY", "githubToken", "db-pwd", "DB_PWD", "pwd", "DATABASE_URL", "Authorization"])(
    "suggests a secret: %s",
    (name) => {
      expect(isSecretName(name)).toBe(true);
    },
  );

  test.each(["KEY_FILE", "TOKEN_LIMIT", "AUTH_URL", "HOME", "PATH", "OLDPWD"])(
    "does not suggest a secret: %s",
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  test("is not a password if it is the working directory of a shell", () => {
    expect(isSecretName("PWD")).toBe(false);
  });
});

describe("the name of a header", () => {
  test.each(["X-Session-Id", "x-sessionid", "X-Session", "X-Team-Session-ID", "X-Account-Token", "X-Api-Key"])(
    "is that of a credential, and not of a tenant: %s",
    (name) => {
      expect(isCredentialHeader(name)).toBe(true);
      expect(isTenantHeader(name)).toBe(false);
    },
  );

  test.each(["X-Tenant", "X-Workspace-Id", "Organization", "X-Organisation-Name", "x-account-id", "X-Team"])(
    "is that of a tenant, and not of a credential: %s",
    (name) => {
      expect(isTenantHeader(name)).toBe(true);
      expect(isCredentialHeader(name)).toBe(false);
    },
  );

  test.each(["X-Request-Id", "X-Client-Id", "X-Session-Timeout", "Idempotency-Key"])("is neither: %s", (name) => {
    expect(isTenantHeader(name)).toBe(false);
    expect(isCredentialHeader(name)).toBe(false);
  });

  test("does not treat session variables of a desktop as credentials", () => {
    expect(["XDG_SESSION_ID", "DESKTOP_SESSION"].filter(isSecretName)).toEqual([]);
  });
});
