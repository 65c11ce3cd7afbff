import { describe, expect, test } from "vitest";
import { createSecretRegistry } from "../secrets/redactor.js";
import { networkEntry, withEntry } from "./examples.test.helper.js";
import type { Finding } from "./finding.js";
import { parseConfiguration } from "./parse-configuration.js";
import { type Substitution, substituteEntry, type Variables } from "./substitute-entry.js";

function substitute(entry: unknown, variables: Variables = {}, secrets = createSecretRegistry()): Substitution {
  const [parsed] = parseConfiguration(withEntry(entry)).entries;
  if (parsed === undefined) throw new Error("no entry");
  return substituteEntry(parsed, { variables, pluginRoot: "/plugin", secrets });
}

function findingsOf(entry: unknown, variables: Variables): readonly Finding[] {
  return substitute(entry, variables).findings;
}

function codesOf(entry: unknown, variables: Variables): string[] {
  return findingsOf(entry, variables).map(({ severity, code }) => `${severity} ${code}`);
}

const process = (more: object): object => ({ command: "x", ...more });
const header = (name: string, value: string): object => networkEntry({ headers: { [name]: value } });

describe("[TS-D-SEC-2] secrets among the values of variables", () => {
  test.each([
    ["the password of an address", { STORE: "postgres://me:${WORD}@host/db" }, ["WORD"]],
    ["a part of the password", { STORE: "postgres://me:a${WORD}b@host/db" }, ["WORD"]],
    ["a password without a user", { STORE: "redis://:${WORD}@host" }, ["WORD"]],
    ["only the password of an address", { STORE: "postgres://${PERSON}:${WORD}@${PLACE}/${BASE}" }, ["WORD"]],
    ["both parts of a password", { STORE: "postgres://me:${ONE}${TWO}@host/db" }, ["ONE", "TWO"]],
    ["a parameter named like a secret", { STORE: "postgres://host/db?user=${PERSON}&password=${WORD}" }, ["WORD"]],
    ["a parameter before another one", { STORE: "postgres://host/db?password=${WORD}&user=${PERSON}" }, ["WORD"]],
    ["a variable named like a secret", { API_KEY: "${WORD}", LEVEL: "${DETAIL}" }, ["WORD"]],
    [
      "a reference named like a secret, wherever it is",
      { LEVEL: "${API_TOKEN}", STORE: "postgres://host/${DB_TOKEN}" },
      ["API_TOKEN", "DB_TOKEN"],
    ],
    ["no path segment with a colon and an at sign", { PAGE: "https://host/a:${WORD}@b" }, []],
    ["no host, and no path, query or port after it", { PAGE: "https://${PLACE}:8080/${PATH_PART}?q=${QUERY}" }, []],
  ])("decides whether the value of a variable is a secret: %s", (_, env, expected) => {
    const { uses } = substitute(process({ env }));
    expect(uses.filter(({ isSecret }) => isSecret).map(({ variable }) => variable)).toEqual(expected);
  });

  test("treats url parameters and options that are named like a secret as secrets", () => {
    const url = "https://host/${PART}?w=${WHAT}&api_key=a${ONE}b&token=${TWO}${THREE}&q=${QUERY}";
    const secrets = createSecretRegistry();
    const variables = { PART: "p", WHAT: "w", ONE: "k3q9x7z1", TWO: "m4n8b2v6", THREE: "c5d7f9g1", QUERY: "q" };
    const { uses } = substitute({ type: "http", url }, variables, secrets);
    const secretsOf = (all: typeof uses): string[] => all.flatMap((use) => (use.isSecret ? use.variable : []));
    expect(secretsOf(uses)).toEqual(["ONE", "TWO", "THREE"]);
    expect(secrets.redact("k3q9x7z1 m4n8b2v6 c5d7f9g1")).not.toMatch(/k3q9x7z1|m4n8b2v6|c5d7f9g1/);
    const args = ["--token=${ONE}", "--level=${TWO}", "-key=${THREE}", "${FOUR}=token"];
    expect(secretsOf(substitute(process({ args })).uses)).toEqual(["ONE", "THREE"]);
  });

  test("treats values in headers that carry a credential as secrets, but not in other headers", () => {
    const headers = {
      Authorization: "Bearer ${ONE}",
      "X-Api-Key": "${TWO}",
      "X-Region": "${THREE}",
      Accept: "${MY_TOKEN}",
    };
    const { uses } = substitute(networkEntry({ headers }));
    expect(uses.map(({ variable, isSecret }) => [variable, isSecret])).toEqual([
      ["ONE", true],
      ["TWO", true],
      ["THREE", false],
      ["MY_TOKEN", true],
    ]);
  });

  test("redacts a password from then on, but keeps the database name readable", () => {
    const secrets = createSecretRegistry();
    const env = { STORE: "postgres://${PERSON}:${WORD}@host/${BASE}" };
    substitute(process({ env }), { PERSON: "the-person", WORD: "the-word", BASE: "the-base" }, secrets);
    expect(secrets.redact("the-person the-word the-base")).toBe("the-person [redacted] the-base");
  });
});

describe("[TS-D-SUB-6] invisible white space", () => {
  test.each([
    ["a\nb", "contains a line break"],
    [" a\nb\n", "contains a line break"],
    ["ab\n", "ends with a line break"],
    ["ab \r\n", "ends with a line break"],
    [" ab", "starts with white space"],
    ["\nab", "starts with white space"],
    ["ab\t", "ends with white space"],
    ["a\u200bb", "contains invisible characters"],
  ])("reports invisible white space precisely: %j", (value, what) => {
    expect(findingsOf(process({ args: ["${A}"] }), { A: value })).toMatchObject([
      { code: "variable-white-space", message: `The value of A ${what}.` },
    ]);
  });

  test("reports white space as an error in a secret, a header and the url, and as a warning elsewhere", () => {
    const error = "error variable-white-space";
    expect(codesOf(process({ env: { API_KEY: "${A}" } }), { A: "a " })).toEqual([error]);
    expect(codesOf(header("X-Region", "${A}"), { A: "a " })).toEqual([error]);
    expect(codesOf(networkEntry({ url: "https://a.example/${A}" }), { A: "a " })).toContain(error);
    expect(codesOf(process({ env: { LEVEL: "${A}" } }), { A: "a " })).toEqual(["warning variable-white-space"]);
  });
});

test("reports a NUL as an error in every value that is passed to a process", () => {
  expect(codesOf(process({ args: ["${A}"] }), { A: "a\0b" })).toEqual(["error variable-white-space"]);
  expect(codesOf(process({ env: { LEVEL: "${A}" } }), { A: "a\0b" })).toEqual(["error variable-white-space"]);
});

test("accepts a placeholder in fields that are not secret", () => {
  expect(codesOf(process({ args: ["${A}"] }), { A: "changeme" })).toEqual([]);
});

test("reports a scheme in the value of Authorization only if the field has one too", () => {
  expect(codesOf(header("Authorization", "${A}"), { A: "Bearer abc" })).toEqual([]);
  expect(codesOf(header("authorization", "Bearer ${A}"), { A: "bearer abc" })).toEqual(["error authorization-doubled"]);
});

test.each([
  ["dXNlcjpwYXNz", []],
  ["dXNlcjpwYXM=", []],
  ["dXNlcg==", ["warning basic-credentials"]],
  ["dXNlcjpwYXNz!", ["warning basic-credentials"]],
  ["!dXNlcjpwYXNz", ["warning basic-credentials"]],
  ["user:pass", ["warning basic-credentials"]],
])("checks that the Basic credentials %j are the base64 of user:password", (value, expected) => {
  expect(codesOf(header("Authorization", "Basic ${A}"), { A: value })).toEqual(expected);
});

test("does not check Basic credentials made of several variables", () => {
  expect(codesOf(header("Authorization", "Basic ${A}${B}"), { A: "dXNlcjpw", B: "YXNz" })).toEqual([]);
});
