import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ToolServerError } from "@wirescope/tool-server";
import type { SignOutReport } from "@wirescope/tool-server/auth";
import type { Explanation } from "@wirescope/tool-server/why";
import { expect, test } from "vitest";
import {
  ExplanationSchema,
  FailureSchema,
  ServerSchema,
  SignInPromptSchema,
  SignOutResponseSchema,
} from "../../gen/wirescope/v1/admin_pb.js";
import { explanationFromMessage, explanationToMessage } from "./explanation-message.js";
import { failureFromMessage, failureToMessage, serverFromMessage, serverToMessage } from "./server-message.js";
import { promptFromMessage, promptToMessage, signOutFromMessage, signOutToMessage } from "./sign-in-message.js";

test("keeps the message parts of a failure and what the user has to confirm", () => {
  const parts = {
    subject: 'The server "a" cannot be used.',
    problem: "It moved.",
    evidence: "It says so.",
    advice: "Sign in again.",
  };
  const details = {
    issuerChange: { from: "https://a.example", to: "https://b.example" },
    foreignOrigin: { issuer: "https://a.example", origin: "https://c.example" },
    signIn: { scopes: ["notes:write"] },
  };
  const sent = create(FailureSchema, failureToMessage(new ToolServerError("ISSUER_CHANGED", parts, { details })));
  const received = failureFromMessage(fromBinary(FailureSchema, toBinary(FailureSchema, sent)));
  expect(received).toMatchObject({ code: "ISSUER_CHANGED", ...parts, details });
  expect(received?.message).toBe(sent.message);
});

test("uses the message of a failure without message parts as the problem", () => {
  const message = create(FailureSchema, { code: "SIGN_IN_NEEDED", message: "Sign in." });
  expect(failureFromMessage(message)).toMatchObject({ message: "Sign in.", problem: "Sign in.", advice: "" });
  expect(failureFromMessage(create(FailureSchema, { message: "It failed." }))).toBeUndefined();
});

test("converts an explanation to a message and back", () => {
  const note = {
    code: "variable-unset",
    problem: "KEY is not set.",
    evidence: ["url needs it."],
    fix: { advice: "Set it.", command: "export KEY=", position: { file: ".mcp.json", line: 2, column: 3 }, write: "x" },
  } as const;
  const explanation: Explanation = {
    server: "a",
    type: "sse",
    isWell: false,
    causes: [{ ...note, weight: 0.5 }],
    notes: [note],
    steps: [{ step: "configuration", outcome: "failed", evidence: ["KEY"] }],
    requirements: [{ requirement: "KEY", outcome: "skipped", evidence: [] }],
    permissions: ["read"],
  };
  const bytes = toBinary(ExplanationSchema, explanationToMessage(explanation));
  expect(explanationFromMessage(fromBinary(ExplanationSchema, bytes))).toEqual(explanation);
});

test("converts a sign-out report to a message and back", () => {
  const report: SignOutReport = {
    server: "a",
    wiped: [
      { issuer: "https://a.example", accessToken: { kind: "revoked" }, refreshToken: { kind: "unsupported" } },
      { issuer: "https://b.example", accessToken: { kind: "failed", reason: "500" }, refreshToken: undefined },
    ],
    problems: ["One could not be read."],
    remaining: [{ url: "https://a.example/mcp", tenant: "WORKSPACE_ID=main" }],
  };
  const bytes = toBinary(SignOutResponseSchema, signOutToMessage(report));
  expect(signOutFromMessage("a", fromBinary(SignOutResponseSchema, bytes))).toEqual(report);
});

test("keeps the authentication and the failure of a server", () => {
  const error = new ToolServerError("UNAUTHORIZED", { problem: "It responded 401.", advice: "Sign in." });
  const oauth = {
    isSignedIn: true,
    issuer: "https://a.example",
    account: "me",
    scopes: ["read"],
    expiresAt: 1_700_000_000_000,
    obtainedAt: 1_600_000_000_000,
    tokenType: "DPoP",
    canRefresh: true,
    pausedUntil: undefined,
  } as const;
  const message = serverToMessage(
    {
      name: "a",
      state: "TRANSIENT_FAILURE",
      target: "https://a.example/mcp",
      server: undefined,
      protocolVersion: undefined,
      credential: "signed in",
      authentication: { kind: "oauth", summary: "signed in", headers: [], environment: [], oauth },
      failure: { code: error.code, message: error.message, error, at: 2000, since: 1000 },
      tools: undefined,
      idlePatterns: [],
      listProblems: [],
      toolChanges: [],
      callsInFlight: 0,
    },
    { type: "http", configuration: undefined, channelId: undefined },
  );
  const received = serverFromMessage(fromBinary(ServerSchema, toBinary(ServerSchema, message)));
  expect(received).toMatchObject({
    name: "a",
    type: "http",
    isConnected: false,
    credential: { kind: "oauth", summary: "signed in", oauth },
    failure: { code: "UNAUTHORIZED", problem: "It responded 401.", advice: "Sign in." },
    failingSince: 1000,
  });
});

test("converts a sign-in prompt to a message and back", () => {
  const request = {
    server: "a",
    issuer: "https://a.example",
    reason: "asked",
    scopes: ["read"],
    newScopes: [],
    vault: { kind: "file", summary: "Tokens are kept in a file." },
    way: {
      kind: "device",
      url: "https://a.example/device",
      userCode: "AB-CD",
      completeUrl: undefined,
      expiresAt: 1_700_000_000_000,
    },
  } as const;
  const bytes = toBinary(SignInPromptSchema, promptToMessage("1", request as never));
  expect(promptFromMessage("a", fromBinary(SignInPromptSchema, bytes))).toEqual(request);
});
