/** The task tree. Parents and statuses are the server's; here is only the nesting. */
import type { Block, BlockOf } from "@breadboard-ls/sdk";
import { BlockView } from "../blocks/block_view";
import { Icon } from "../blocks/icon";
import type { OpenSession } from "../model/open_session";
import { t } from "../messages";
import { statusWords } from "../status_words";

type Task = BlockOf<"task">;
const ICON: Readonly<Record<string, string>> = {
  queued: "circle-outline",
  running: "sync",
  completed: "pass",
  failed: "error",
};

export function TasksPane({ session }: { session: OpenSession }) {
  const blocks = session.blocks("tasks");
  if (blocks.length === 0) return <p class="empty">{t("No tasks yet. What the agent divides its work into stands here.")}</p>;
  const tasks = blocks.filter((block): block is Task => block.kind === "task");
  const others = blocks.filter((block) => block.kind !== "task");
  const known = new Set(tasks.map(({ taskId }) => taskId));
  const roots = tasks.filter(({ parentId }) => parentId == null || !known.has(parentId));
  return (
    <div class="pane">
      {others.map((block: Block) => (
        <BlockView key={block.id} block={block} />
      ))}
      <ul class="tree" role="tree" aria-label={t("Tasks")}>
        {roots.map((task) => (
          <TaskNode key={task.id} task={task} tasks={tasks} above={new Set([task.taskId])} />
        ))}
      </ul>
    </div>
  );
}

function TaskNode({ task, tasks, above }: { task: Task; tasks: readonly Task[]; above: ReadonlySet<string> }) {
  // A tree that bites its own tail ends here instead of going round.
  const children = tasks.filter(({ parentId, taskId }) => parentId === task.taskId && !above.has(taskId));
  return (
    <li role="treeitem" aria-expanded={children.length > 0 ? true : undefined} data-task={task.taskId}>
      <span class={`task ${task.status}`}>
        <Icon name={ICON[task.status] ?? "circle-outline"} spin={task.status === "running"} /> {task.title}{" "}
        <span class="status">{statusWords(task.status)}</span>
      </span>
      {children.length > 0 && (
        <ul role="group">
          {children.map((child) => (
            <TaskNode key={child.id} task={child} tasks={tasks} above={new Set([...above, child.taskId])} />
          ))}
        </ul>
      )}
    </li>
  );
}
