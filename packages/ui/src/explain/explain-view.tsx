import "./explain.css";
import type { Server } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { Button, Copy, Empty, ErrorNote, Loading, Section, StateMark, visibleLine } from "../design/index.js";
import { Link, type ViewProps } from "../shell/routing/index.js";
import { ServerActions, serverState, whyCommand } from "../shell/server-actions/index.js";
import { serverNamed, servers } from "../shell/store/index.js";
import { CauseList, Notes } from "./causes.js";
import { CheckList } from "./check-list.js";
import { useExplain } from "./run-explain.js";

/** Diagnoses a server: shows each step while it runs, the evidence, and how to fix it. */
export function ExplainView({ params }: ViewProps): VNode {
  const { server: name } = params;
  if (servers.value === undefined) return <Loading what="servers" />;
  if (name === undefined) return <Choice servers={servers.value} />;
  const server = serverNamed(name);
  if (server === undefined) {
    return (
      <Empty title={`The gateway has no server “${name}”.`}>
        <Link to="/explain">Choose a server</Link>
      </Empty>
    );
  }
  return <Diagnosis key={name} server={server} />;
}

/** The list of servers, failing ones first. */
function Choice({ servers: all }: { readonly servers: readonly Server[] }): VNode {
  const sorted = [...all].sort((a, b) => Number(isWell(a)) - Number(isWell(b)));
  return (
    <div class="page">
      <h1 class="visually-hidden">Explain</h1>
      <Section title="Explain a server" isFlush>
        {all.length === 0 ? (
          <Empty title="The gateway has no servers." />
        ) : (
          <ul class="explain-choice">
            {sorted.map((server) => {
              const { tone, word, reason } = serverState(server);
              return (
                <li key={server.name}>
                  <Link to={`/explain/${encodeURIComponent(server.name)}`}>{visibleLine(server.name)}</Link>
                  <StateMark tone={tone}>{word}</StateMark>
                  <span class="soft">{visibleLine(reason ?? "", 500)}</span>
                </li>
              );
            })}
          </ul>
        )}
      </Section>
    </div>
  );
}

function isWell(server: Server): boolean {
  return serverState(server).remedy === undefined;
}

function Diagnosis({ server }: { readonly server: Server }): VNode {
  const { name } = server;
  const { steps, explanation, error, isStarted, run } = useExplain(name);
  const isRunning = isStarted && explanation === undefined && error === undefined;
  return (
    <div class="page explain">
      <header class="explain-header">
        <h1>Explain {visibleLine(name)}</h1>
        <Button isSmall kind={isStarted ? undefined : "primary"} isDisabled={isRunning} onClick={run}>
          {isStarted ? "Run again" : "Run"}
        </Button>
        <Copy text={whyCommand(name)} what="command" />
      </header>
      <div class="explain-result" aria-live="polite">
        {!isStarted && (
          <p class="soft">
            “Run” checks each step of the connection to {visibleLine(name)}, with its configured credentials.
          </p>
        )}
        {isRunning && <Loading what={`the next step for ${visibleLine(name)}`} />}
        {error !== undefined && <ErrorNote error={error} />}
        {explanation?.well && <StateMark tone="ready">{visibleLine(name)} works.</StateMark>}
        {explanation !== undefined && (
          <CauseList causes={explanation.causes}>
            <ServerActions server={server} isExplained />
          </CauseList>
        )}
      </div>
      {isStarted && (
        <Section title="Steps">
          {steps.length === 0 ? <p class="soft">No step has finished yet.</p> : <CheckList checks={steps} />}
          {isRunning && <p class="explain-running soft">Running…</p>}
        </Section>
      )}
      {explanation !== undefined && explanation.notes.length > 0 && <Notes notes={explanation.notes} />}
      {explanation !== undefined && explanation.requirements.length > 0 && (
        <Section title="Protocol requirements">
          <CheckList checks={explanation.requirements} />
        </Section>
      )}
      {explanation !== undefined && explanation.permissions.length > 0 && (
        <Section title="Scopes that the server requests">
          <p>{explanation.permissions.join(", ")}</p>
        </Section>
      )}
    </div>
  );
}
