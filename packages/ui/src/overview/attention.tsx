import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Server } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Button, Section, StateMark, Time, visibleLine } from "../design/index.js";
import { Link } from "../shell/routing/index.js";
import { finalExpiryMs, ServerActions, serverState } from "../shell/server-actions/index.js";
import { shownTimeMs } from "../shell/store/index.js";

/** How long before its expiry a token that cannot be refreshed is reported. */
const expiryNoticeMs = 10 * 60_000;

/** More would move the table of servers far away. */
const maxShown = 20;

/** Everything that needs the user's attention: the configuration, and servers with their actions. */
export function Attention({
  servers,
  reloadFailure,
}: {
  readonly servers: readonly Server[];
  readonly reloadFailure: string | undefined;
}): VNode {
  const [isWhole, setWhole] = useState(false);
  const failing = servers.filter((server) => serverState(server).remedy !== undefined);
  const expiring = servers.filter((server) => !failing.includes(server) && isExpiring(server));
  return (
    <Section title="Needs attention" isFlush>
      {failing.length + expiring.length === 0 && reloadFailure === undefined ? (
        <p class="attention-all">
          <StateMark tone="ready">Nothing. All servers work.</StateMark>
        </p>
      ) : (
        <ul class="attention">
          {reloadFailure !== undefined && (
            <li>
              <div class="attention-name">
                Configuration
                <StateMark tone="failing">not applied</StateMark>
              </div>
              <p class="attention-reason">{reloadFailure}</p>
            </li>
          )}
          {(isWhole ? failing : failing.slice(0, maxShown)).map((server) => (
            <FailingServer key={server.name} server={server} />
          ))}
          {expiring.map((server) => (
            <li key={server.name}>
              <ServerName server={server} />
              <p class="attention-reason">
                The token expires <Time ms={finalExpiryMs(server) ?? 0} /> and cannot be refreshed.
              </p>
              <ServerActions server={server} isComplete />
            </li>
          ))}
        </ul>
      )}
      {!isWhole && failing.length > maxShown && (
        <p class="attention-all">
          <Button isSmall onClick={() => setWhole(true)}>
            Show all {failing.length}
          </Button>
        </p>
      )}
    </Section>
  );
}

function FailingServer({ server }: { readonly server: Server }): VNode {
  return (
    <li>
      <ServerName server={server} />
      <p class="attention-reason">{visibleLine(serverState(server).reason ?? "", 500)}</p>
      <ServerActions server={server} />
    </li>
  );
}

function ServerName({ server }: { readonly server: Server }): VNode {
  const { tone, word } = serverState(server);
  const { beginTime } = server.failure ?? {};
  return (
    <div class="attention-name">
      <Link to={`/servers/${encodeURIComponent(server.name)}`} inPanel>
        {visibleLine(server.name)}
      </Link>
      <StateMark tone={tone}>{word}</StateMark>
      {beginTime && (
        <span class="attention-since">
          began <Time ms={timestampMs(beginTime)} />
        </span>
      )}
    </div>
  );
}

function isExpiring(server: Server): boolean {
  const expiry = finalExpiryMs(server);
  return expiry !== undefined && expiry - shownTimeMs() < expiryNoticeMs;
}
