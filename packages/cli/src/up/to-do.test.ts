import type { ServerStatus } from "@wirescope/gateway";
import { expect, test } from "vitest";
import { toDoOf } from "./to-do.js";

function status(name: string, failure?: { code?: string; message: string }): ServerStatus {
  return {
    name,
    state: failure === undefined ? "READY" : "TRANSIENT_FAILURE",
    target: undefined,
    server: undefined,
    protocolVersion: undefined,
    credential: undefined,
    authentication: undefined,
    failure: failure && { code: failure.code, message: failure.message, at: 0 },
    tools: undefined,
    idlePatterns: [],
    callsInFlight: 0,
  };
}

test("what is to be done follows from why a server does not work", () => {
  const servers = [
    status("fine"),
    status("new one", { code: "NOT_TRUSTED", message: "It is not approved." }),
    status("notes", { code: "SIGN_IN_NEEDED", message: "Sign in." }),
    status("api", { code: "VARIABLE_UNUSABLE", message: 'The server "api" cannot be used. KEY is not set. Set it.' }),
    status("web", { code: "ENTRY_INVALID", message: "The url is of http." }),
    status("down", { code: "SERVER_UNREACHABLE", message: "Cannot reach it: nothing listens there. Check the port." }),
  ];
  expect(toDoOf(servers, "wirescope", (server) => `http://gateway/${server}`)).toEqual([
    { server: "new one", problem: "is not approved yet", command: "wirescope trust 'new one'" },
    { server: "notes", problem: "wants you to sign in; open", command: "http://gateway/notes" },
    { server: "api", problem: "KEY is not set. Set it.", command: "wirescope check" },
    { server: "web", problem: "The url is of http.", command: "wirescope check" },
    { server: "down", problem: "Cannot reach it: nothing listens there.", command: "wirescope why down" },
  ]);
});
