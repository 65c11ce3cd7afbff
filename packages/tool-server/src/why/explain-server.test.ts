import { expect, test } from "vitest";
import { explainEntry, firstOf, startToolServer } from "./explain.test.helper.js";
import { explain } from "./explain-server.js";
import type { Step } from "./explanation.js";
import { base, refused } from "./rank/evidence.test.helper.js";

const withToken = (port: number) => ({
  type: "http",
  url: `http://127.0.0.1:${port}/mcp`,
  headers: { Authorization: "Bearer ${API_TOKEN}" },
});

test("reports each step once it is known, and again only if it has changed", async () => {
  const { port } = await startToolServer();
  const reported: Step[] = [];
  const variables = { API_TOKEN: "tok-51aGbq8" };
  const { steps } = await explainEntry(withToken(port), { variables, onStep: (step) => reported.push(step) });
  for (const [index, step] of reported.entries()) {
    expect(step).not.toEqual(reported.slice(0, index).findLast((earlier) => earlier.step === step.step));
  }
  const latest = new Map(reported.map((step) => [step.step, step]));
  expect(new Set(latest.values())).toEqual(new Set(steps.filter(({ outcome }) => outcome !== "skipped")));
  expect(JSON.stringify(reported)).not.toContain("tok-51aGbq8");
});

test("says how to set a variable in the process that reads it, in place of the general advice if it is unset or empty", async () => {
  const { port } = await startToolServer((_, response) => void response.writeHead(401).end());
  const setVariable = (name: string): string => `Set ${name} there.`;
  const adviceWith = async (variables: Readonly<Record<string, string>>) => {
    const { code, fix } = firstOf(await explainEntry(withToken(port), { variables, setVariable }));
    return [code, fix.advice, fix.command];
  };
  expect(await adviceWith({})).toEqual(["variable-unset", "Set API_TOKEN there.", undefined]);
  expect(await adviceWith({ API_TOKEN: "" })).toEqual(["variable-empty", "Set API_TOKEN there.", undefined]);
  expect(await adviceWith({ API_TOKEN: "tok-51aGbq8" })).toEqual([
    "token-refused",
    expect.stringMatching(/^Set API_TOKEN to .+\. Set API_TOKEN there\.$/),
    undefined,
  ]);
});

test("names the permissions that the server asks for", () => {
  const challenge = (scopes: string[]) => ({
    schemes: ["bearer"],
    error: undefined,
    description: undefined,
    scopes,
    resourceMetadata: [],
  });
  const permissionsWith = (scopes: string[]) =>
    explain({ ...base, attempt: refused(401, { challenge: challenge(scopes) }) }).permissions;
  expect(permissionsWith(["admin"])).toEqual(["admin"]);
  expect(permissionsWith([])).toBeUndefined();
  expect(explain(base).permissions).toBeUndefined();
});
