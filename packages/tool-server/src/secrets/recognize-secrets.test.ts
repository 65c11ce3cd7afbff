import { describe, expect, test } from "vitest";
import {
  findSecretShapes,
  isCredentialHeader,
  isPlaceholder,
  isSecretName,
  isTenantHeader,
} from "./recognize-secrets.js";

const random = "q7Zp2LxV9bTn4RkW8sYd3Hf6";

test.each([
  [`ghp_${random}${random}`, "a GitHub token"],
  [`github_pat_${random}`, "a GitHub token"],
  [`glpat-${random}`, "a GitLab token"],
  [`xoxb-${random}`, "a Slack token"],
  [`sk-ant-${random}`, "a key of the kind sk-"],
  [`sk_live_${random}`, "a Stripe key"],
  ["AKIAIOSFODNN7EXAMPLE", "an AWS access key"],
  [`AIza${random}${random}`, "a Google key"],
  [`npm_${random}${random}`, "an npm token"],
  [`hf_${random}`, "a Hugging Face token"],
  [`figd_${random}-_${random}`, "a Figma token"],
  [`tvly-dev-${random}`, "a Tavily key"],
  [`ATATT3xFfGF0${random}=5B1F0C42`, "an Atlassian token"],
  [`ATCTT3xFfGF0${random}=5B1F0C42`, "an Atlassian token"],
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "a JSON Web Token"],
  ["-----BEGIN RSA PRIVATE KEY-----\nabc", "a private key"],
  ["postgres://me:hunter22@host/db", "a password in a URL"],
  [random, "a random key"],
  ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "a random key"],
])("[TS-D-SEC-1] recognizes the shape of a secret: %s", (text, looksLike) => {
  expect(findSecretShapes(`x ${text} y`).map((shape) => shape.looksLike)).toEqual([looksLike]);
});

test.each([
  "${API_TOKEN_OF_THE_WHOLE_COMPANY_1a}",
  "postgres://${DB_USER}:${DB_PASSWORD}@host/db",
  "b7b3c1de-3f0a-4a4e-9d0f-1d2c3b4a5f60",
  "@modelcontextprotocol/server-filesystem",
  "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "sha512-q7Zp2LxV9bTn4RkW8sYd3Hf6q7Zp2LxV9bTn4RkW8sYd3Hf6",
  "/usr/local/lib/node_modules/some-package/dist/index.js",
  "https://api.example.com/v1/organizations/projects",
  "ThisIsALongCamelCaseIdentifierOfJava8",
])("does not report a value that is not a secret: %s", (text) => {
  expect(findSecretShapes(text)).toEqual([]);
});

test.each(["API_KEY", "API_TOKEN", "DB_PASSWORD", "DATABASE_URL", "apiKey", "GITHUB_PAT", "SENTRY_DSN", "AUTH"])(
  "recognizes %s as the name of a secret",
  (name) => {
    expect(isSecretName(name)).toBe(true);
  },
);

test.each(["DB_USER", "KEY_FILE", "TOKEN_LIMIT", "AUTH_URL", "API_KEY_ID", "PATH", "MONKEY", "NODE_ENV", "PASSENGER"])(
  "does not mistake %s for the name of a secret",
  (name) => {
    expect(isSecretName(name)).toBe(false);
  },
);

test("[TS-HEADER-2] distinguishes headers with credentials from headers that select a tenant", () => {
  for (const name of ["Authorization", "X-API-Key", "x-api-secret", "X-Auth-Token", "X-Signature", "Cookie"]) {
    expect(isCredentialHeader(name), name).toBe(true);
  }
  for (const name of ["X-Tenant-ID", "X-Workspace-ID"]) {
    expect(isTenantHeader(name), name).toBe(true);
    expect(isCredentialHeader(name), name).toBe(false);
  }
  for (const name of ["X-User-ID", "X-Timestamp", "Accept-Language"]) {
    expect(isCredentialHeader(name) || isTenantHeader(name), name).toBe(false);
  }
});

test("checks a string of any length quickly", () => {
  for (const piece of ["a", "eyJ-", "a.", "sk-", "://", "A1b-"]) {
    expect(findSecretShapes(piece.repeat(300_000)).length).toBeLessThan(10_000);
  }
});

test.each([
  "<token>",
  "[your key]",
  "your-api-key",
  "YOUR_TOKEN_HERE",
  "my-secret-token",
  "insert key here",
  "change-me",
  "replace_this_value",
  "xxxx",
  "...",
  "****",
  "TODO",
  "placeholder",
  "api_key",
  "undefined",
])("recognizes %s as a placeholder", (value) => {
  expect(isPlaceholder(value)).toBe(true);
});

test.each(["", "sk-live-123456", "yourself", "my-service", "tokenless", "a...b", "nullable", "xx"])(
  "does not mistake %j for a placeholder",
  (value) => {
    expect(isPlaceholder(value)).toBe(false);
  },
);

describe("the name of a variable, an argument or a header", () => {
  test.each(["API_KEY", "githubToken", "db-pwd", "DB_PWD", "pwd", "DATABASE_URL", "Authorization"])(
    "recognizes the name of a secret: %s",
    (name) => {
      expect(isSecretName(name)).toBe(true);
    },
  );

  test.each(["KEY_FILE", "TOKEN_LIMIT", "AUTH_URL", "HOME", "PATH", "OLDPWD"])(
    "does not mistake this name for that of a secret: %s",
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  test("does not mistake the working directory of a shell for a password", () => {
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
    "classifies this header as neither a credential nor a tenant: %s",
    (name) => {
      expect(isTenantHeader(name)).toBe(false);
      expect(isCredentialHeader(name)).toBe(false);
    },
  );

  test("does not treat session variables of a desktop as credentials", () => {
    expect(["XDG_SESSION_ID", "DESKTOP_SESSION"].filter(isSecretName)).toEqual([]);
  });
});
