import { commonOptions } from "../options.js";
import { adHocOptions } from "../tool-server/ad-hoc-server.js";
import { serverOptions } from "../tool-server/server-options.js";

const fileOptions = {
  config: {
    type: "string",
    placeholder: "file",
    help: "file to change; default: .mcp.json in this folder or, in a git repository, in a parent folder; else a new one here",
  },
  "dry-run": { type: "boolean", help: "show what would be written without writing it" },
  json: { type: "boolean", help: "print JSON instead of text" },
} as const;

const ownAddOptions = {
  type: {
    type: "string",
    choices: ["http", "sse", "ws"],
    help: "transport of a url: Streamable HTTP, HTTP with SSE, or WebSocket; default: by the url",
  },
  replace: { type: "boolean", help: "replace an entry of the same name" },
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "file with variables for the url, whose value the approval covers",
  },
} as const;

/** Options of `add`. */
export const addOptions: typeof adHocOptions &
  typeof ownAddOptions &
  Pick<typeof serverOptions, "profile" | "vault"> &
  typeof fileOptions &
  typeof commonOptions = {
  ...adHocOptions,
  ...ownAddOptions,
  profile: serverOptions.profile,
  vault: serverOptions.vault,
  ...fileOptions,
  ...commonOptions,
};

const ownImportOptions = {
  reference: {
    type: "boolean",
    help: "let the gateway read the files of the clients instead of copying their servers",
  },
  yes: { type: "boolean", help: "write without asking" },
} as const;

/** Options of `import`. */
export const importOptions: typeof ownImportOptions & typeof fileOptions & typeof commonOptions = {
  ...ownImportOptions,
  ...fileOptions,
  ...commonOptions,
};
