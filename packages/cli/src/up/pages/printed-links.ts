import type { Io } from "../../io.js";
import type { ServerCommands } from "../server-commands.js";
import type { PageAccess } from "./page-access.js";
import { signInPathOf } from "./sign-in-page.js";

/** How the notice says to get to the page, and to the sign-in of a server. */
export interface PrintedLinks {
  readonly page: string;
  readonly signInOf: (server: string) => string;
}

/**
 * Links if standard output is a terminal, else commands: a journal or the log of a container is read by others, who must not get
 * in by a link that they find there.
 */
export function printedLinks(
  { stdout }: Pick<Io, "stdout">,
  access: PageAccess,
  origin: string,
  commands: Pick<ServerCommands, "program" | "about">,
): PrintedLinks {
  if (!stdout.isTTY) {
    return { page: `${commands.program} page`, signInOf: (server) => commands.about("login", server) };
  }
  return {
    page: access.linkTo(origin, access.basePath),
    signInOf: (server) => access.linkTo(origin, signInPathOf(access, server)),
  };
}
