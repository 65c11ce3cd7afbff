import { describe, expect, test } from "vitest";
import { createSecretRegistry } from "../secrets/redactor.js";
import { checkTemplate, isSecretPosition } from "./check-variables.js";
import type { TemplateField } from "./entry.js";
import { networkEntry, withEntry } from "./examples.test.helper.js";
import { collectFindings, type Finding } from "./finding.js";
import { parseConfiguration } from "./parse-configuration.js";
import { type Substitution, substituteEntry, type Variables } from "./substitute-entry.js";
import { parseTemplate, type TemplateSyntax } from "./template.js";

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
    ["a part of a parameter named like a secret", { STORE: "postgres://host/db?password=a${WORD}" }, ["WORD"]],
    ["no path segment with a colon and an at sign", { PAGE: "https://host/a:${WORD}@b" }, []],
    ["no path segment after a port", { PAGE: "https://host:80/a${WORD}@b" }, []],
    ["no port before a path with an at sign", { PAGE: "https://host:${WORD}/a@b" }, []],
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
    const args = ["--token=${ONE}", "--level=${TWO}", "-key=${THREE}", "${FOUR}=token", "key-${FIVE}"];
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

const fieldOf = (field: string, text: string, syntax?: TemplateSyntax): TemplateField => ({
  field,
  template: parseTemplate(text, syntax),
  path: [],
  line: 1,
  column: 1,
});

test.each<[string, string, string, boolean]>([
  ["oauth.clientSecret", "${WORD}", "WORD", true],
  ["oauth.clientId", "${WORD}", "WORD", false],
  ["command[1] of env.A", "--token=${WORD}", "WORD", true],
  ["command[1] of env.API_TOKEN", "${WORD}", "WORD", false],
  ["cwd", "token=${WORD}", "WORD", false],
  ["headers.Authorization", "Bearer ${NOT_SECRET:-x}", "NOT_SECRET", false],
  // The file says that this input is a secret.
  ["args[0]", "${input:code}", "input:code", true],
  ["args[0]", "${OTHER}/${input:code}", "input:code", true],
  ["args[0]", "${OTHER}/${input:code}", "OTHER", false],
  ["args[0]", "${input:region}", "input:region", false],
])("[TS-D-SEC-2] the field %s with %s makes the value of %s a secret: %s", (field, text, variable, isSecret) => {
  const inputs = new Map([["code", { isSecret: true }]]);
  expect(isSecretPosition(fieldOf(field, text, { inputs }), variable)).toBe(isSecret);
});

describe("[TS-D-SUB-4] the variables of a field", () => {
  function check(field: string, text: string, options?: Parameters<typeof checkTemplate>[2]): string[] {
    const { findings, report } = collectFindings();
    checkTemplate(fieldOf(field, text), report, options);
    return findings.map(({ code, severity, message, fix }) => `${severity} ${code}: ${message} ${fix}`);
  }

  test.each([
    ["$API_TOKEN", "$API_TOKEN", "Write ${API_TOKEN}."],
    ["Bearer $A1_B", "$A1_B", "Write ${A1_B}."],
    ["a\t$_", "$_", "Write ${_}."],
    ["%API_TOKEN%", "%API_TOKEN%, the Windows form", "Write ${API_TOKEN}, which works on every system."],
    ["a%_B1%c", "%_B1%, the Windows form", "Write ${_B1}, which works on every system."],
  ])("reports %j as sent literally, and as a warning if another program defines the format", (text, what, fix) => {
    const message = `variable-malformed: headers.X-A contains ${what}, which is sent literally. ${fix}`;
    expect(check("headers.X-A", text)).toEqual([`error ${message}`]);
    expect(check("headers.X-A", text, { isForeign: true })).toEqual([`warning ${message}`]);
  });

  test("[TS-FIELD-7] warns about $NAME in an argument, which a shell may replace, unless env sets NAME", () => {
    const passed = (name: string) =>
      `warning variable-malformed: args[1] contains $${name}, which is passed to the program as it is. ` +
      `Write \${${name}} to pass its value. ` +
      `If the program is a shell that replaces it, add "env": {"${name}": "\${${name}}"} to the entry.`;
    const processVariables = new Set(["SERVER_FILE"]);
    const of = (text: string): string[] => {
      const { findings, report } = collectFindings();
      checkTemplate({ ...fieldOf("args[1]", text), processVariables }, report);
      return findings.map(({ code, severity, message, fix }) => `${severity} ${code}: ${message} ${fix}`);
    };
    expect(of("exec node $SERVER_FILE")).toEqual([]);
    expect(of("exec node $OTHER")).toEqual([passed("OTHER")]);
    expect(of("echo %OTHER%")).toEqual([expect.stringMatching(/^warning variable-malformed/)]);
    expect(check("command[2] of env.A", "exec cat $FILE")).toEqual([
      "warning variable-malformed: command[2] of env.A contains $FILE, which is passed to the program as it is. " +
        "Write ${FILE} to pass its value. If the program is a shell that replaces it, keep it.",
    ]);
  });

  test.each(["a$TOKEN", "$token", "$Token", "$1", "$$", "%AB%", "%20ABC%20", "%ab_c%", "100% OF%"])(
    "accepts %j as text",
    (text) => {
      expect(check("headers.X-A", text)).toEqual([]);
    },
  );

  test("accepts $NAME in the arguments of the bridge if env sets NAME", () => {
    const bridgeVariables = new Set(["TOKEN"]);
    expect(check("args[1]", "Bearer $TOKEN", { bridgeVariables })).toEqual([]);
    expect(check("args[1]", "text", { bridgeVariables })).toEqual([]);
    expect(check("args[1]", "$OTHER", { bridgeVariables })).toEqual([
      "error variable-malformed: args[1] contains $OTHER, which the bridge reads from its environment, but env does not set it. " +
        'Add "env": {"OTHER": "${OTHER}"} to the entry.',
    ]);
    expect(check("env.A", "$TOKEN", { bridgeVariables })).toEqual([
      "error variable-malformed: env.A contains $TOKEN, which is sent literally. Write ${TOKEN}.",
    ]);
  });

  test("reports each reason for an invalid reference once", () => {
    expect(check("args[0]", "${} ${} ${")).toEqual([
      expect.stringContaining("args[0] contains an invalid variable reference: ${} has no name."),
      expect.stringContaining("args[0] contains an invalid variable reference: a ${ has no closing }."),
    ]);
  });

  test("accepts everything in text that comes from code", () => {
    const { findings, report } = collectFindings();
    const parts = [{ kind: "text", text: "$TOKEN ${" }] as const;
    const template = {
      text: "$TOKEN ${",
      parts,
      malformed: [{ reason: "a ${ has no closing }", fix: "" }],
      isLiteral: true,
    };
    checkTemplate({ ...fieldOf("args[0]", ""), template }, report);
    expect(findings).toEqual([]);
  });

  test("[TS-SUB-2] accepts HOST_PLUGIN_ROOT only in fields that are paths, and its other spellings everywhere", () => {
    const paths = [
      "command",
      "args[0]",
      "headersHelper",
      "cwd",
      "envFile",
      "command[0] of env.A",
      "command[1] of env.A",
    ];
    for (const field of paths) expect(check(field, "${HOST_PLUGIN_ROOT}/a"), field).toEqual([]);
    for (const field of ["url", "headers.X-A", "env.A", "oauth.clientId"]) {
      expect(check(field, "${HOST_PLUGIN_ROOT}/a"), field).toEqual([
        `error variable-misplaced: HOST_PLUGIN_ROOT is not available in ${field}. Use it in command, args, cwd, envFile or headersHelper.`,
      ]);
      expect(check(field, "${workspaceFolder}/a"), field).toEqual([]);
    }
  });

  test("warns about a variable that decides which program runs", () => {
    const warning =
      "warning variable-misplaced: TOOLS decides which program runs. Start the path with ${HOST_PLUGIN_ROOT}, or write the full path.";
    for (const field of ["command", "headersHelper", "command[0] of env.A"]) {
      expect(check(field, "${TOOLS}/run"), field).toEqual([warning]);
      expect(check(field, "${userHome}/run"), field).toEqual([]);
    }
    for (const field of ["args[0]", "cwd", "command[1] of env.A"]) expect(check(field, "${TOOLS}"), field).toEqual([]);
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

test("reports a scheme in a value only in Authorization", () => {
  expect(codesOf(header("X-Proxy-Auth", "Bearer ${A}"), { A: "Bearer abc" })).toEqual([]);
  expect(codesOf(process({ args: ["Basic ${A}"] }), { A: "Basic abc" })).toEqual([]);
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
