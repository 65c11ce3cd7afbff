import { expect, test } from "vitest";
import { keyHeaderIn, type Statement, states, variableNamesIn } from "./peer-text.js";

test.each<readonly [string, Statement]>([
  ["Ask an administrator to allow this app.", "approval-needed"],
  ["AADSTS65001: The user has not consented.", "approval-needed"],
  ["You are not a member of this workspace", "tenant-wrong"],
  ["The token expired", "token-expired"],
  ["insufficient_scope", "scope-missing"],
  ["bad aud", "audience-wrong"],
  ["Unsupported protocol version: 2031-01-01", "version-unsupported"],
  ["Invalid API key", "credential-rejected"],
  ["Please log in", "sign-in-asked"],
  ["The application 1234-5678 was not found", "client-unknown"],
  ["Could not fetch client id metadata document", "client-document"],
  ["The redirectUri is not registered", "redirect-wrong"],
  ["API_TOKEN must be set", "variable-missing"],
  ["npm error code EAI_AGAIN", "network-trouble"],
  ["CN=Zscaler Root CA", "tls-intercepted"],
])("reads from %j the statement %s", (text, statement) => {
  expect(states(text, statement)).toBe(true);
});

test("reads no sign-in from words that only contain one", () => {
  expect(states("Our lessons are for associates", "sign-in-asked")).toBe(false);
});

test("searches only the first 65,536 characters of what a peer sends", () => {
  expect(states(`${" ".repeat(65_500)} expired`, "token-expired")).toBe(true);
  expect(states(`${" ".repeat(65_536)} expired`, "token-expired")).toBe(false);
});

test("finds the names of variables, but no error codes", () => {
  const names = variableNamesIn("ERR_MODULE_NOT_FOUND: set API_TOKEN and E_NO_KEY or DB2_URL");
  expect(names).toEqual(["API_TOKEN", "DB2_URL"]);
});

test.each([
  ["Missing X-API-Key header", "X-API-Key"],
  ['ApiKey realm="k", header="Api-Key"', "Api-Key"],
  ["x-request-id 7: send your key as x-notes-token.", "x-notes-token"],
  ["the 'ocp-apim-subscription-key' header is required", "ocp-apim-subscription-key"],
  ["Your api-key is invalid", undefined],
  ["Set the Authorization header or X-API-Key", undefined],
  ["A Bearer token or an X-API-Key is required", undefined],
  ["X-CSRF-Token header missing", undefined],
  ["The Mcp-Session-Id header is missing", undefined],
  ["The Idempotency-Key header is missing", undefined],
  ["X-Request-Id: 7", undefined],
  [`${"a-".repeat(40_000)} header`, undefined],
])("finds in %j the header of a key: %s", (text, header) => {
  expect(keyHeaderIn(text)).toBe(header);
});
