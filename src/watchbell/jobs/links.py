"""The addresses of pages about jobs, for messages."""

from urllib.parse import quote


def job_page(base_url: str, job: str) -> str:
    return f"{base_url}/jobs/job?id={quote(job, safe='')}"


def event_page(base_url: str, event: str) -> str:
    return f"{base_url}/events/event?id={quote(event, safe='')}"


def server_page(base_url: str, server: str) -> str:
    return f"{base_url}/servers/server?id={quote(server, safe='')}"
