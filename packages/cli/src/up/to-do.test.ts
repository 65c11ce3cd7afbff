import type { ServerStatus } from "@wirescope/gateway";
import { type ErrorParts, ToolServerError, type ToolServerErrorCode } from "@wirescope/tool-server";
import { describe, expect, test } from "vitest";
import { createServerCommands, type ToDo, toDoOf } from "./to-do.js";

function status(name: string, error?: ToolServerError): ServerStatus {
  return {
    name,
    state: error === undefined ? "READY" : "TRANSIENT_FAILURE",
    target: undefined,
    server: undefined,
    protocolVersion: undefined,
    credential: undefined,
    authentication: undefined,
    failure: error && { code: error.code, message: error.message, error, at: 0, since: 0 },
    tools: undefined,
    idlePatterns: [],
    toolChanges: [],
    listProblems: [],
    callsInFlight: 0,
  };
}

const found = createServerCommands({
  program: "wirescope",
  foundFile: "/p/.mcp.json",
  isDemo: false,
  fileOf: () => "/p/.mcp.json",
});

function toDo(code: ToolServerErrorCode, what: string | ErrorParts, commands = found): ToDo | undefined {
  const error = new ToolServerError(code, typeof what === "string" ? { problem: what, advice: "" } : what);
  return toDoOf([status("api", error)], commands, (server) => `http://gateway/${server}`)[0];
}

test("chooses the to-do entry of a server by its error code", () => {
  const servers = [
    status("fine"),
    status("new one", new ToolServerError("NOT_TRUSTED", { problem: "It is not approved.", advice: "" })),
    status("notes", new ToolServerError("SIGN_IN_NEEDED", { problem: "Sign in.", advice: "" })),
    status(
      "api",
      new ToolServerError("VARIABLE_UNUSABLE", {
        subject: 'The server "api" cannot be used.',
        problem: "KEY is not set.",
        advice: "Set it.",
      }),
    ),
    status("web", new ToolServerError("ENTRY_INVALID", { problem: "The url is of http.", advice: "" })),
    status(
      "down",
      new ToolServerError("SERVER_UNREACHABLE", {
        problem: "Cannot reach it: nothing listens there.",
        advice: "Check the port.",
      }),
    ),
  ];
  expect(toDoOf(servers, found, (server) => `http://gateway/${server}`)).toEqual([
    { server: "new one", problem: "pending approval", command: "wirescope trust 'new one'" },
    { server: "notes", problem: "sign-in required", command: "http://gateway/notes" },
    { server: "api", problem: "KEY is not set. Set it.", command: "wirescope check" },
    { server: "web", problem: "The url is of http.", command: "wirescope check" },
    {
      server: "down",
      problem: "Cannot reach it: nothing listens there. Check the port.",
      command: "wirescope why down",
    },
  ]);
});

describe("the problem of an entry", () => {
  test("contains the problem and the advice, without the subject and the evidence", () => {
    const missing = {
      subject: 'The server "api" cannot be used.',
      problem: "nope was not found.",
      evidence: "PATH searched: /a:/b.",
      advice: "Install it.",
    };
    expect(toDo("CHILD_NOT_RUNNABLE", missing)?.problem).toBe("nope was not found. Install it.");
  });

  test("does not depend on how the message is written", () => {
    const problem = 'The server "api" refused the request. It said: "(PATH searched: x) The server "y" has errors."';
    expect(toDo("SERVER_FAILED", problem)?.problem).toBe(problem);
  });

  test("omits advice that would make it too long, and truncates a problem that is too long itself", () => {
    const sentence = `${"words ".repeat(25)}end.`;
    expect(toDo("SERVER_FAILED", { problem: sentence, advice: sentence })?.problem).toBe(sentence);
    const cut = toDo("SERVER_FAILED", sentence.repeat(3))?.problem ?? "";
    expect(cut).toHaveLength(240);
    expect(cut.endsWith("…")).toBe(true);
  });
});

describe("the command of an entry", () => {
  test("names the configuration unless commands find it in this folder", () => {
    const named = createServerCommands({
      program: "wirescope",
      foundFile: "/p/.mcp.json",
      isDemo: false,
      fileOf: () => "/srv/my servers.json",
    });
    expect(toDo("ENTRY_INVALID", "It is wrong.", named)?.command).toBe("wirescope check '/srv/my servers.json'");
    expect(toDo("UNAUTHORIZED", "Refused.", named)?.command).toBe("wirescope why api --config '/srv/my servers.json'");
    expect(toDo("NOT_TRUSTED", "New.", named)?.command).toBe("wirescope trust api --config '/srv/my servers.json'");
  });

  test("uses --endpoint for the servers of the demonstration", () => {
    const demo = createServerCommands({
      program: "npx wirescope",
      foundFile: "/tmp/x",
      isDemo: true,
      fileOf: () => "/tmp/x",
    });
    expect(toDo("UNAUTHORIZED", "Refused.", demo)?.command).toBe("npx wirescope why api --endpoint");
  });
});
