import { describe, expect, test } from "vitest";
import { isCredentialHeader, isSecretName, isTenantHeader } from "./secret-names.js";

describe("the name of a variable, an argument or a header", () => {
  test.each(["API_KEY", "githubToken", "db-pwd", "DB_PWD", "pwd", "DATABASE_URL", "Authorization"])(
    "recognizes the name of a secret: %s",
    (name) => {
      expect(isSecretName(name)).toBe(true);
    },
  );

  test.each(["KEY_FILE", "TOKEN_LIMIT", "AUTH_URL", "HOME", "PATH", "OLDPWD"])(
    "does not take this name for one of a secret: %s",
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  test("does not take the working directory of a shell for a password", () => {
    expect(isSecretName("PWD")).toBe(false);
  });
});

describe("the name of a header", () => {
  test.each(["X-Session-Id", "x-sessionid", "X-Session", "X-Team-Session-ID", "X-Account-Token", "X-Api-Key"])(
    "recognizes the header of a credential, which is not a tenant: %s",
    (name) => {
      expect(isCredentialHeader(name)).toBe(true);
      expect(isTenantHeader(name)).toBe(false);
    },
  );

  test.each(["X-Tenant", "X-Workspace-Id", "Organization", "X-Organisation-Name", "x-account-id", "X-Team"])(
    "recognizes the header of a tenant, which is not a credential: %s",
    (name) => {
      expect(isTenantHeader(name)).toBe(true);
      expect(isCredentialHeader(name)).toBe(false);
    },
  );

  test.each(["X-Request-Id", "X-Client-Id", "X-Session-Timeout", "Idempotency-Key"])(
    "takes this header for neither a credential nor a tenant: %s",
    (name) => {
      expect(isTenantHeader(name)).toBe(false);
      expect(isCredentialHeader(name)).toBe(false);
    },
  );

  test("does not treat session variables of a desktop as credentials", () => {
    expect(["XDG_SESSION_ID", "DESKTOP_SESSION"].filter(isSecretName)).toEqual([]);
  });
});
