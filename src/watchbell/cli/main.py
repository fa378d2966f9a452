"""The command `watchbell`: its subcommands, and how errors become a line and an exit code."""

import io
import os
import sys
from typing import NoReturn

import click

from watchbell.cli.groups import LazyGroup
from watchbell.errors import WatchbellError
from watchbell.exits import end_process

# Module and summary of each command; a module is imported only when its command is used.
COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("watchbell.cli.up", "Run everything on this machine."),
    "run": ("watchbell.cli.run", "Run one role alone."),
    "agent": ("watchbell.cli.agent", "Run the jobs of a server on this machine."),
    "event": ("watchbell.cli.event", "Report the state of a check."),
    "receive": ("watchbell.cli.receive", "Receive check results of other programs."),
    "rejected": ("watchbell.cli.rejected", "List rejected events and the reasons."),
    "simulate": ("watchbell.cli.simulate", "Send the events of a failing check."),
    "check": ("watchbell.cli.check", "Change a check's settings, or disable it."),
    "explain": ("watchbell.cli.explain", "Explain who was alerted about a check, and why."),
    "drain": ("watchbell.cli.drain", "Process everything in the queues, then exit."),
    "status": ("watchbell.cli.status", "Show the state of checks."),
    "failing": ("watchbell.cli.failing", "List failing checks."),
    "ack": ("watchbell.cli.ack", "Acknowledge failures."),
    "maintenance": ("watchbell.cli.maintenance", "Schedule, list and end maintenance."),
    "test-notify": ("watchbell.cli.test_notify", "Send a test notification."),
    "history": ("watchbell.cli.history", "Show the history of a check."),
    "outages": ("watchbell.cli.outages", "List when checks were not ok."),
    "downtime": ("watchbell.cli.downtime", "Add up downtime outside scheduled maintenance."),
    "purge": ("watchbell.cli.purge", "Remove old history."),
    "contacts": ("watchbell.cli.contacts", "Manage contacts and how to reach them."),
    "entities": ("watchbell.cli.entities", "Manage entities: ids, tags, contacts."),
    "rules": ("watchbell.cli.rules", "Manage rules: when and how a contact is notified."),
    "import": ("watchbell.cli.import_", "Take over from another system."),
    "records": ("watchbell.cli.records", "Keep Flapjack's records, too."),
    "cron": ("watchbell.cli.cron", "Run commands on a schedule, on a fleet."),
    "events": ("watchbell.cli.events", "Manage events: what runs, when and where."),
    "apply": ("watchbell.cli.apply", "Make definitions as a file says."),
    "jobs": ("watchbell.cli.jobs", "Watch, search, abort and rerun jobs."),
    "categories": ("watchbell.cli.categories", "Manage categories of events."),
    "plugins": ("watchbell.cli.plugins", "Manage the programs that jobs run."),
    "channels": ("watchbell.cli.channels", "Manage whom the actions of events notify."),
    "tags": ("watchbell.cli.tags", "Manage tags of events and jobs."),
    "servers": ("watchbell.cli.servers", "Manage servers, which run jobs, and their tokens."),
    "groups": ("watchbell.cli.server_groups", "Manage groups of servers."),
    "monitors": ("watchbell.cli.monitors", "Manage what is measured of servers."),
    "alert-defs": ("watchbell.cli.alert_defs", "Manage when servers have alerts."),
    "server-alerts": ("watchbell.cli.server_alerts", "Show, explain and snooze their alerts."),
    "expression": ("watchbell.cli.expression", "Evaluate an expression of monitors and alerts."),
    "snapshots": ("watchbell.cli.snapshots", "Take, show and compare snapshots of servers."),
    "dashboards": ("watchbell.cli.dashboards", "Manage pages of plots and lists."),
    "archive": ("watchbell.cli.archive", "Archive sites, and replay what was archived."),
    "gateways": ("watchbell.cli.gateways", "Show, test and retry the gateways."),
    "users": ("watchbell.cli.users", "Manage users and their roles."),
    "roles": ("watchbell.cli.roles", "Manage custom roles and their privileges."),
    "api-keys": ("watchbell.cli.api_keys", "Manage API keys and ping URLs."),
    "audit": ("watchbell.cli.audit", "Show the audit log."),
    "doctor": ("watchbell.cli.doctor", "Check the machine, settings, store and clocks."),
    "store": ("watchbell.cli.store", "Repair the embedded store's files."),
    "keys": ("watchbell.cli.keys", "List the key families with their counts and memory."),
    "settings": ("watchbell.cli.settings", "Show the settings in effect and their sources."),
    "completion": ("watchbell.cli.completion", "Print a shell completion script."),
    "version": ("watchbell.cli.version", "Show the version."),
}
EPILOG = """\
\b
Start here:  watchbell up
Exit codes:  0 success, 1 failure or problems found, 2 wrong usage,
             3 bad settings, 4 store not available, 5 `apply --dry-run` found
             differences, 130 interrupted.
"""


class Commands(LazyGroup):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(
    cls=Commands,
    places={name: f"{module}:command" for name, (module, _) in COMMANDS.items()},
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def watchbell() -> None:
    """Watchbell runs jobs on a fleet of machines, watches everything, alerts the right
    person when something is wrong, and archives the web, on one Redis."""


def main() -> NoReturn:
    end_process(_outcome())


def _outcome() -> int:
    try:
        code = watchbell.main(prog_name="watchbell", standalone_mode=False)
        sys.stdout.flush()
    except WatchbellError as error:
        click.echo(f"watchbell: {error}", err=True)
        return error.exit_code
    except click.ClickException as error:
        from watchbell import logs  # noqa: PLC0415  (slow to import, and rarely needed)

        shown = io.StringIO()
        error.show(shown)
        click.echo(logs.redact(shown.getvalue()), err=True, nl=False)  # it may quote a URL
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code if isinstance(code, int) else 0
