/* SPDX-License-Identifier: MIT */
#include "flow/follow.h"

#include <errno.h>

int hy_follow_look(struct hyphae_cell *cell, struct hy_follow *follow,
		   const struct hyphae_type **ret_type, uint64_t *ret_id,
		   bool *ret_event)
{
	struct hyphae_cell_info info;
	int r = hyphae_cell_info(cell, &info);

	if (r)
		return r;
	*ret_type = info.type;
	*ret_id = info.id;
	if (ret_event)
		*ret_event = info.event;
	*follow = (struct hy_follow){
		.thread = pthread_self(),
		.shared = hy_shared(hy_graph_of(hy_cell_place(cell)))};
	return 0;
}

void hy_follow_end(const struct hy_follow *follow)
{
	if (follow->shared || pthread_equal(follow->thread, pthread_self()))
		hyphae_unsubscribe(follow->subscription);
}

static __thread struct hy_job *jobs, **jobs_end;

int hy_job_run(struct hy_job *job)
{
	bool outermost = !jobs_end;
	int r, result = 0;

	if (outermost)
		jobs_end = &jobs;
	job->next = NULL;
	*jobs_end = job;
	jobs_end = &job->next;
	while (outermost && jobs) {
		job = jobs;
		jobs = job->next;
		if (!jobs)
			jobs_end = &jobs;
		r = job->run(job);
		if (!result)
			result = r;
	}
	if (outermost)
		jobs_end = NULL;
	return result;
}
